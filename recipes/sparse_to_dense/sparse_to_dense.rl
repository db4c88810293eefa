# Sparse to dense (arXiv:2605.12483): teacher GRPO → student distillation → student GRPO.
import "teacher.rl"
import "student.rl"
import "refine.rl"

pipeline sparse_to_dense {
  stage teacher = sparse_teacher
  stage student = dense_student(teachers: [teacher]) {
    model { policy: "Qwen/Qwen3-1.7B", dtype: bf16 }
  }
  stage refine  = sparse_student from student
}

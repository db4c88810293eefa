# ExOPD (arXiv:2602.12125): the teacher's difference from the student's start, scaled beyond 1.
import std.opd

recipe exopd extends opd {
  "The student goes further in the direction in which the teacher differs from where it started."

  advantage = teacher(scale: 1.25)
}

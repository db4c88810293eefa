# A file that uses every form of the language, badly laid out.
import   "../base.rl"
let a=1
let   longer   =   ( a+2 )*-3   # sum
let text="""
 kept   as it is  # no comment
"""


# before the recipe

recipe crowded   extends grpo {
  """Several
     lines."""

  feedback = verify(public: math, hidden: exact(tolerance: 1e-6, extract: "\\d+")) + 0.5*format(pattern: "<a>", reward: 0.1) - overlong(max: 20k, buffer: 4096)
  sampling=(group( 16,temperature:1.0 ,top_p : none,max_tokens:longer+480,stop:["</s>","<end>"]) | keep(mixed, by:math,max_rounds: 10) | oversample(1.5))
  advantage = gae(gamma:1,lambda:0.95, lambda_actor: length_adaptive(1.5),
    skip_observation: true) | whiten(std: sample)


  gate = clip(0.2,high:0.28,dual:none,) + kl(coef:1e-3, estimator:k3)
  gate.clip.high   =   0.3
  feedback.format[2].reward=5%
  ratio=none
  system= stream(push_every: 4)on disaggregated( rollout:4,train : 4 )
  model { policy:"Qwen/Qwen2.5-32B",dtype:bf16
     context: 32k }
  optim { adamw(lr:1e-6), lora(rank: 32, alpha: 64, target: [query, key, value, output, gate_proj, up_proj, down_proj]), updates_per_batch:16 }
  cluster{local}
  track {}
  profile toy{ model.policy="toy:llama-2x64"
    data{train:"toy:addition",prompts:16}
  }
  seed=1
}
recipe wider extends crowded { gate.high = 0.3 } # change one parameter
sweep s of crowded {
  optim.lr in 1e-7..1e-5 log 5
  data.prompts in pow2 64..512
  distribution.band in [0.5..2.0, 0.1..10]
  zip { gate.low in [0.1,0.2]
        gate.high in [ 0.2 , 0.3 ] }
  seed in 1..3
  exclude when gate.high==0.2 and not (advantage!=group_mean or a>=3)
}
ablate steps from grpo to crowded {order:[feedback,gate],seeds:3}
ablate plain from grpo to crowded
pipeline p {
  stage one=crowded
  stage second=crowded { gate.high=0.3, optim { adamw(lr: 1e-7) } } from one
  stage third=opd(teachers:[one,second]) from second
}
# the end

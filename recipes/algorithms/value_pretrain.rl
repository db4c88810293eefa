# Value pretraining (VC-PPO, arXiv:2503.01491): a critic for a fixed policy, fitted to Monte-Carlo returns.
import std.ppo

recipe value_pretrain extends ppo {
  "The policy answers and stays as it is; with λ = 1 the critic's target is the return itself."

  feedback  = verify(math, extract: boxed)
  advantage = gae(gamma: 1, lambda: 1)
  ratio     = none
  gate      = none

  optim  { frozen }
  critic { adamw(lr: 9e-6), value_clip: none }

  profile toy {
    feedback = verify(exact)
    model  { warm_start: 150 }
    data   { prompts: 128 }
    optim  { frozen, updates_per_batch: 4 }
    critic { adamw(lr: 2e-3), warmup_steps: 0 }
    budget { steps: 60 }
  }
}

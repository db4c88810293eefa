# DeepSeek-V4.1's schedule on tasks with one turn: a prompt begins when as many responses have ended as its group has,
# training stops what is in flight at any token, and it goes on from its own state under the new weights.
import "v4.rl"

recipe v4_1 extends v4_expert {
  "Scheduling by sample on one pool, the experts of every segment repeated in training, old data bounded and masked."

  feedback     = verify(math, extract: boxed) + crash_is_failure
  sampling     = group(16, max_tokens: 128k) | per_source(256)
  distribution = tis(2.0) + replay(routing) + off_policy_share(0.5) + mask_stale(4)
  system       = per_sample(in_flight: 1024, resume: keep_state) on colocated

  model { policy: "deepseek-ai/DeepSeek-V4.1" }
  evidence {
    unpublished: [
      "sampling.n",
      "sampling.limit",
      "gate.high",
      "gate.coef",
      "distribution.cap",
      "distribution.share",
      "distribution.versions",
      "system.in_flight",
      "data.prompts",
      "optim.lr",
    ]
  }

  profile toy {  # one source, no experts to repeat, and what was stopped is computed again
    feedback     = verify(exact) + crash_is_failure
    sampling     = group(8, max_tokens: 6)
    distribution = tis(2.0) + off_policy_share(0.5) + mask_stale(4)
    system       = per_sample(in_flight: 128) on colocated
    model { warm_start: 115 }
    optim { adamw(lr: 3e-4), updates_per_batch: 4 }
  }
}

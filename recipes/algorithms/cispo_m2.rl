# CISPO as in MiniMax-M2: weights in [0, 1 + high] (high unpublished, the default stands in), rewards summed to the end.
import std.cispo

recipe cispo_m2 extends cispo {
  "The floor of the weight is 0, and a token answers for what follows it."

  advantage    = reward_to_go
  distribution = mis(0.5..2.0)  # the report stacks MIS on top; its band is unpublished, the default stands in

  evidence { unpublished: ["gate.high", "distribution.band"] }
}

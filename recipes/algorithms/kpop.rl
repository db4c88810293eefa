# KPop as in Ring 2.6: tokens are judged by the divergence of the two engines, not by their ratio.
import std.icepop

recipe kpop extends icepop {
  "IcePop's place, with binary KL in both directions as the bound."

  distribution = kpop(0.01)

  evidence { unpublished: ["distribution.phi"] }
}

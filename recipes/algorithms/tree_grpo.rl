# Tree-GRPO (arXiv:2509.21240): responses grow as trees and are compared in their tree and among the trees of a prompt.
# The settings are those of the paper's code for multi-hop questions. There a node is a step of an agent with a search
# tool and forks are chosen at random; here the text is cut into lines, and every response forks after its first one.
import std.grpo

recipe tree_grpo extends grpo {
  "Two trees of two responses, Tree-GRPO's inter-tree plus intra-tree advantage."

  sampling  = tree(2, 2, max_tokens: 500) | steps("\n")
  advantage = tree_group
  gate      = clip(0.2) + kl(0.001)

  data  { prompts: 512 }
  optim { adamw(lr: 1e-6), updates_per_batch: 8 }

  profile toy {
    sampling = tree(2, 3, max_tokens: 6) | steps(every: 2)
    data  { prompts: 32 }
    optim { adamw(lr: 2e-4), updates_per_batch: 2 }
  }
}

# TreeRL (arXiv:2506.11902): every step is worth what all responses through it earn, against the root and its parent. The
# paper forks at uncertain tokens: 6 trees, 2 forks each, of 2 branches.
recipe tree_rl extends tree_grpo {
  "Process rewards from the tree itself."

  advantage = tree_values
}

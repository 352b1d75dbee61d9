import type { Block, Node } from './node.ts'

/**
 * Items of a long list usually differ only in a name and a path: the text below their other keys
 * repeats. It is parsed at its first occurrence and reused at the others.
 */
export class RepeatedBlocks {
  readonly #keys = new Map<string, BlocksBelow>()

  /** Undefined if a lookup is not worthwhile: below some keys, text never repeats. */
  below(key: string): BlocksBelow | undefined {
    let blocks = this.#keys.get(key)
    if (blocks === undefined) this.#keys.set(key, (blocks = new BlocksBelow()))
    return blocks.isLikely ? blocks : undefined
  }
}

const MAX_BLOCKS = 200
const MAX_LENGTH = 4_096
/** The number of lookups before the hit rate is evaluated. */
const FIRST = 32

/** The repeated texts below one key of the items. */
export class BlocksBelow {
  readonly #known = new Map<string, Block>()
  #asked = 0
  #found = 0

  get isLikely(): boolean {
    return this.#asked < FIRST || this.#found * 2 > this.#asked
  }

  find(text: string): Block | undefined {
    this.#asked++
    const block = this.#known.get(text)
    if (block !== undefined) this.#found++
    return block
  }

  /** Undefined if the block is not cached: more would cost more memory than they save time. */
  add(text: string, node: Node, start: number): Block | undefined {
    if (this.#known.size === MAX_BLOCKS || text.length > MAX_LENGTH) return undefined
    const block = { node, start, value: undefined }
    this.#known.set(text, block)
    return block
  }
}

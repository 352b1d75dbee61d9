import type { Block, Node } from './node.ts'

/**
 * The items of a long list mostly differ in a name and a path: what stands below their other keys
 * is the same text again and again. It is read where it stands first, and known everywhere else.
 */
export class RepeatedBlocks {
  readonly #keys = new Map<string, BlocksBelow>()

  /** Undefined where it is not worth a look: below some keys nothing is ever the same. */
  below(key: string): BlocksBelow | undefined {
    let blocks = this.#keys.get(key)
    if (blocks === undefined) this.#keys.set(key, (blocks = new BlocksBelow()))
    return blocks.isLikely ? blocks : undefined
  }
}

const MAX_BLOCKS = 200
const MAX_LENGTH = 4_096
/** How many are read before it is judged. */
const FIRST = 32

/** What stands below one key of the items. */
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

  /** Undefined where it is not kept: more would rather fill the memory than save time. */
  add(text: string, node: Node, start: number): Block | undefined {
    if (this.#known.size === MAX_BLOCKS || text.length > MAX_LENGTH) return undefined
    const block = { node, start, value: undefined }
    this.#known.set(text, block)
    return block
  }
}

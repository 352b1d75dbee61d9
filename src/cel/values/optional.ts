import type { Value } from './value.ts'

/** `optional.of(x)` or `optional.none()`. */
export class Optional {
  /** undefined: none. */
  readonly value: Value | undefined

  constructor(value: Value | undefined) {
    this.value = value
  }

  static readonly none = new Optional(undefined)
}

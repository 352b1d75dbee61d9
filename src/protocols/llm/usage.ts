/** A token is about four bytes of English text; exact counts are known only after the call. */
export const BYTES_PER_TOKEN = 4

/**
 * The tokens of a call. Vendors count in two ways; here every number is inclusive: `input` includes
 * all tokens of the prompt, cached or not, and `output` includes the reasoning. So adding them up
 * counts nothing twice, and `total` is `input + output` unless the provider reports more.
 */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly total: number
  /** Part of `input`: read from the provider's prompt cache. */
  readonly cacheRead: number
  /** Part of `input`: written to the cache. */
  readonly cacheWrite: number
  /** Part of `output`: reasoning that may not be visible in the response. */
  readonly reasoning: number
  /** Parts of `input` and `output`: audio. */
  readonly inputAudio: number
  readonly outputAudio: number
}

export const NO_USAGE: Usage = {
  input: 0,
  output: 0,
  total: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  inputAudio: 0,
  outputAudio: 0,
}

/** `total` is the sum unless the provider reports a larger one. */
export function usageFrom(parts: Partial<Usage>): Usage {
  const input = count(parts.input)
  const output = count(parts.output)
  return {
    input,
    output,
    total: Math.max(count(parts.total), input + output),
    cacheRead: count(parts.cacheRead),
    cacheWrite: count(parts.cacheWrite),
    reasoning: count(parts.reasoning),
    inputAudio: count(parts.inputAudio),
    outputAudio: count(parts.outputAudio),
  }
}

/** A provider's number is a claim: an invalid token count is 0. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

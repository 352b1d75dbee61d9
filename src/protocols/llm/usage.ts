/** About four bytes of English are a token; what is counted exactly is known afterwards. */
export const BYTES_PER_TOKEN = 4

/**
 * What a call cost in tokens. Vendors count in two ways; here every number is inclusive: `input`
 * has all tokens of the prompt, cached or not, and `output` has the reasoning. So nothing is
 * counted twice by adding them up, and `total` is `input + output` unless the provider says more.
 */
export interface Usage {
  readonly input: number
  readonly output: number
  readonly total: number
  /** Of `input`: read from the provider's prompt cache. */
  readonly cacheRead: number
  /** Of `input`: written to it. */
  readonly cacheWrite: number
  /** Of `output`: reasoning that may not be visible in the response. */
  readonly reasoning: number
  /** Of `input` and `output`: audio. */
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

/** A provider's number is a claim: what is no count of tokens is none. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

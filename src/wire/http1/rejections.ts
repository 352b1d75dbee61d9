/**
 * Every reason for which bytes are rejected, and the status for the client. If an upstream sent the
 * bytes, the status is 502 regardless. The words are stable: logs and metrics contain them.
 */
export const REJECTIONS = {
  'bad-request-line': 400,
  /** Sent by clients of another protocol: they get no response, since they could not read it. */
  'not-http': 400,
  'bad-method': 400,
  'bad-target': 400,
  'target-too-long': 414,
  'http2-preface': 505,
  'unknown-version': 505,
  'bad-status-line': 502,
  'bare-cr': 400,
  'bare-lf': 400,
  nul: 400,
  'obs-fold': 400,
  'space-before-colon': 400,
  'bad-header-name': 400,
  'bad-header-value': 400,
  'ambiguous-header-name': 400,
  'head-too-large': 431,
  'too-many-headers': 431,
  'missing-host': 400,
  'duplicate-host': 400,
  'bad-host': 400,
  'host-mismatch': 400,
  'both-lengths': 400,
  'bad-content-length': 400,
  'duplicate-content-length': 400,
  'duplicate-transfer-encoding': 400,
  'unknown-transfer-coding': 501,
  'transfer-coding-in-http-1.0': 400,
  'transfer-coding-without-body': 502,
  'too-many-interim-responses': 502,
  'bad-connection': 400,
  'connection-names-end-to-end': 400,
  'unknown-expectation': 417,
  'bad-forwarded-for': 400,
  'bad-chunk-size': 400,
  'chunk-too-large': 400,
  'bad-chunk-extension': 400,
  'chunk-extensions-too-large': 400,
  'bad-chunk-end': 400,
  'trailers-too-large': 431,
  'truncated-body': 400,
  'bad-percent': 400,
  'encoded-slash': 400,
  'backslash-in-path': 400,
  'nul-in-path': 400,
  'bad-path': 400,
  'parameter-of-dot-segment': 400,
  'body-too-large': 413,
  'head-timeout': 408,
  'body-timeout': 408,
} as const satisfies Readonly<Record<string, number>>

export type RejectionWord = keyof typeof REJECTIONS

export interface Rejection {
  readonly word: RejectionWord
  readonly status: number
}

const WORDS = Object.keys(REJECTIONS) as readonly RejectionWord[]
const CODES = new Map<RejectionWord, number>(WORDS.map((word, at) => [word, -1 - at]))

/** The negative number that readers return instead of an offset. */
export function reject(word: RejectionWord): number {
  return CODES.get(word) as number
}

export function rejectionOf(code: number): Rejection {
  const word = WORDS[-1 - code]
  if (word === undefined) throw new RangeError(`${code} is not a rejection`)
  return { word, status: REJECTIONS[word] }
}

/** Alternating names and values (RFC 7541, appendix A). */
// biome-ignore format: one field in a line, as in the appendix
const FIELDS: readonly string[] = [
  ':authority', '',
  ':method', 'GET',
  ':method', 'POST',
  ':path', '/',
  ':path', '/index.html',
  ':scheme', 'http',
  ':scheme', 'https',
  ':status', '200',
  ':status', '204',
  ':status', '206',
  ':status', '304',
  ':status', '400',
  ':status', '404',
  ':status', '500',
  'accept-charset', '',
  'accept-encoding', 'gzip, deflate',
  'accept-language', '',
  'accept-ranges', '',
  'accept', '',
  'access-control-allow-origin', '',
  'age', '',
  'allow', '',
  'authorization', '',
  'cache-control', '',
  'content-disposition', '',
  'content-encoding', '',
  'content-language', '',
  'content-length', '',
  'content-location', '',
  'content-range', '',
  'content-type', '',
  'cookie', '',
  'date', '',
  'etag', '',
  'expect', '',
  'expires', '',
  'from', '',
  'host', '',
  'if-match', '',
  'if-modified-since', '',
  'if-none-match', '',
  'if-range', '',
  'if-unmodified-since', '',
  'last-modified', '',
  'link', '',
  'location', '',
  'max-forwards', '',
  'proxy-authenticate', '',
  'proxy-authorization', '',
  'range', '',
  'referer', '',
  'refresh', '',
  'retry-after', '',
  'server', '',
  'set-cookie', '',
  'strict-transport-security', '',
  'transfer-encoding', '',
  'user-agent', '',
  'vary', '',
  'via', '',
  'www-authenticate', '',
]

/** Number of fields in the static table; indices begin at 1. */
export const STATIC_FIELDS: number = FIELDS.length / 2

/** Bytes that HPACK counts for each field in addition to name and value (RFC 7541 §4.1). */
export const FIELD_OVERHEAD = 32

export function staticName(index: number): string {
  return FIELDS[index * 2 - 2] as string
}

export function staticValue(index: number): string {
  return FIELDS[index * 2 - 1] as string
}

/** The first index of each name. */
const INDEX_OF_NAME = new Map<string, number>()
/** The index of each `:status` in the table. */
const INDEX_OF_STATUS = new Map<number, number>()
for (let index = STATIC_FIELDS; index > 0; index--) {
  INDEX_OF_NAME.set(staticName(index), index)
  if (staticName(index) === ':status') INDEX_OF_STATUS.set(Number(staticValue(index)), index)
}

/** 0 if the table does not contain the name. */
export function indexOfName(name: string): number {
  return INDEX_OF_NAME.get(name) ?? 0
}

export function indexOfStatus(status: number): number {
  return INDEX_OF_STATUS.get(status) ?? 0
}

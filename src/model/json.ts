export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/**
 * The one text of a value: keys sorted, no white space, what is undefined left out. Equal values
 * give equal bytes whoever built them, and in whatever order.
 */
export function canonicalJson(value: unknown, leaveOut?: ReadonlySet<string>): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalJson(item, leaveOut)).join(',')}]`
  }
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    if (member === undefined || leaveOut?.has(key)) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member, leaveOut)}`
  }
  return `{${text}}`
}

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject

export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** Whether a member is left out; `whole`: it stays with everything in it. */
export type LeaveOut = (key: string, member: unknown) => boolean | 'whole'

/**
 * The canonical JSON of a value: keys sorted, no white space, undefined members omitted. Equal
 * values give equal bytes, in whatever order they were built.
 */
export function canonicalJson(value: unknown, leaveOut?: LeaveOut): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalJson(item, leaveOut)).join(',')}]`
  }
  let text = ''
  for (const key of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[key]
    const isOut = member === undefined || leaveOut?.(key, member)
    if (isOut === true) continue
    const inner = canonicalJson(member, isOut === 'whole' ? undefined : leaveOut)
    text += `${text === '' ? '' : ','}${quoted(key)}:${inner}`
  }
  return `{${text}}`
}

/** Most strings need no escape, and testing for that is faster than writing one. */
function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
}

const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/

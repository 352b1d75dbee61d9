import type { DecisionRecord } from './decision-record.ts'

/** Whether a record has the text, in any case: in what it says of the request and of the decision. */
export function hasText(record: DecisionRecord, text: string): boolean {
  return textOf(record).toLowerCase().includes(text.toLowerCase())
}

function textOf(record: DecisionRecord): string {
  const { id, cause, reason, detail, variable, credentials, by, rule, invalid, nearest } = record
  const { gateway, listener, route, backend, provider, method, host, path, call, status } = record
  const { source, peer, sni, attributes } = record
  const policies = [credentials, by, rule, invalid, nearest].flatMap((one) =>
    one === undefined ? [] : [one.policy, one.kind],
  )
  const values = attributes.flatMap(({ state, value }) =>
    state === 'shown' || state === 'cut' ? [JSON.stringify(value)] : [],
  )
  const all = [
    ...[id, method, host, path, status, source, peer, sni, call?.method, call?.name],
    ...[gateway, listener, route, backend, provider, cause, reason, detail, variable],
    ...policies,
    ...[rule?.expression, nearest?.expression],
    ...values,
  ]
  // A search does not match across two fields.
  return all.filter((one) => one !== undefined).join('\n')
}

/** Writes the JSON of a value that `readJson` read: integers beyond 2^53 stay exact. */
export function exactJson(value: unknown): string {
  return JSON.stringify(value, exactIntegers)
}

function exactIntegers(_: string, value: unknown): unknown {
  if (typeof value !== 'bigint') return value
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value))
}

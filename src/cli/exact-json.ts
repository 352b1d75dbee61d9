import { Double, Uint } from '../cel/values/number.ts'

const { rawJSON: raw } = JSON as unknown as { rawJSON: (text: string) => unknown }

/** Writes integers beyond 2^53, and numbers that JSON.stringify cannot write, as JSON numbers. */
export function toExactJson(value: unknown, indent?: number): string {
  return JSON.stringify(
    value,
    (_, member: unknown) => {
      if (typeof member === 'bigint') return raw(String(member))
      if (member instanceof Uint) return raw(String(member.value))
      if (member instanceof Double) return member.value
      // Without a fraction, it would be parsed as an integer, which compares differently.
      if (typeof member === 'number' && isLargeDouble(member)) return raw(`${member}.0`)
      if (member === Infinity || member === -Infinity) {
        return raw(member > 0 ? '1e999' : '-1e999')
      }
      return member
    },
    indent,
  )
}

function isLargeDouble(number: number): boolean {
  return Number.isInteger(number) && !Number.isSafeInteger(number) && Math.abs(number) < 1e21
}

import {
  type CelInput,
  type CelValue,
  celEnv,
  celUint,
  isCelError,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  parse,
  plan,
} from '@bufbuild/cel'
import { strings } from '@bufbuild/cel/ext'
import { create, isMessage } from '@bufbuild/protobuf'
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt'
import { Duration, durationFromNanos } from '../../src/cel/values/duration.ts'
import { LiteralMap } from '../../src/cel/values/map.ts'
import { double, doubleValue, int, isDouble, isInt, Uint } from '../../src/cel/values/number.ts'
import { Timestamp } from '../../src/cel/values/timestamp.ts'
import { TypeValue } from '../../src/cel/values/type-value.ts'
import type { Value } from '../../src/cel/values/value.ts'
import { canonical } from '../conformance/canonical.ts'
import type { Bindings } from './cel-values.ts'

const env = celEnv({ funcs: strings })

/** Returns the result of `@bufbuild/cel` in the format of `canonical`. */
export function runPeer(text: string, bindings: Bindings): string {
  const given: Record<string, CelInput> = {}
  for (const [name, value] of Object.entries(bindings)) given[name] = toPeer(value)
  try {
    const result = plan(env, parse(text))(given)
    return isCelError(result) ? 'error' : canonical(fromPeer(result))
  } catch {
    // It throws if a host function throws: an error like any other.
    return 'error'
  }
}

function toPeer(value: Value): CelInput {
  if (isInt(value)) return BigInt(value)
  if (isDouble(value)) return doubleValue(value)
  if (value instanceof Uint) return celUint(value.value)
  if (value instanceof Timestamp) {
    const { seconds, nanos } = value
    return create(TimestampSchema, { seconds: BigInt(seconds), nanos })
  }
  if (value instanceof Duration) {
    const { total } = value
    return create(DurationSchema, { seconds: total / BILLION, nanos: Number(total % BILLION) })
  }
  if (Array.isArray(value)) return value.map(toPeer)
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) {
    return value as CelInput
  }
  return new Map(Object.entries(value).map(([key, inner]) => [key, toPeer(inner as Value)]))
}

const BILLION = 1_000_000_000n

function fromPeer(value: CelValue): Value | undefined {
  if (typeof value === 'bigint') return int(value)
  if (typeof value === 'number') return double(value)
  if (isCelUint(value)) return new Uint(value.value)
  if (isCelType(value)) return new TypeValue(value.name)
  if (isCelList(value)) return [...value].map((element) => fromPeer(element) as Value)
  if (isCelMap(value)) {
    return LiteralMap.of([...value].map(([k, v]) => [fromPeer(k) as Value, fromPeer(v) as Value]))
  }
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value
  const { message } = value
  if (isMessage(message, TimestampSchema)) {
    return new Timestamp(Number(message.seconds), message.nanos)
  }
  if (isMessage(message, DurationSchema)) {
    return durationFromNanos(message.seconds * BILLION + BigInt(message.nanos))
  }
  throw new Error(`a value of the peer's own: ${message.$typeName}`)
}

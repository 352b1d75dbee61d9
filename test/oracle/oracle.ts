import { spawnSync } from 'node:child_process'
import { parseCidr } from '../../src/cel/values/cidr.ts'
import { durationFromNanos } from '../../src/cel/values/duration.ts'
import { parseIp } from '../../src/cel/values/ip.ts'
import { LiteralMap } from '../../src/cel/values/map.ts'
import { Optional } from '../../src/cel/values/optional.ts'
import { Timestamp } from '../../src/cel/values/timestamp.ts'
import type { Value } from '../../src/cel/values/value.ts'
import { canonical } from '../conformance/canonical.ts'
import { toValue } from '../conformance/cel-spec.ts'
import type { JsonValue } from '../conformance/simple-test.ts'

/**
 * An expression, the types of its variables as cel-go writes them, and their values as CEL
 * expressions.
 */
export interface Question {
  readonly expr: string
  readonly env?: Readonly<Record<string, string>>
  readonly vars?: Readonly<Record<string, string>>
}

export interface OracleResult {
  /** In the format of `canonical`; `error` for any error. */
  readonly result: string
  /** The stage and message of an error from cel-go; stages: parse, check, program, eval. */
  readonly stage: string | undefined
  readonly message: string | undefined
  readonly type: string | undefined
}

export function askOracle(program: string, questions: readonly Question[]): OracleResult[] {
  const input = questions.map((question) => JSON.stringify(question)).join('\n')
  const { status, stdout, stderr } = spawnSync(program, {
    input: `${input}\n`,
    encoding: 'utf8',
    maxBuffer: 1 << 29,
  })
  if (status !== 0) throw new Error(`the oracle failed: ${stderr}`)
  return stdout.trimEnd().split('\n').map(readResponse)
}

interface JsonResponse {
  readonly value?: OracleValue
  readonly type?: string
  readonly stage?: string
  readonly error?: string
}

/** The JSON values of cel-spec, and the kinds that these lack. */
interface OracleValue extends Omit<JsonValue, 'listValue' | 'mapValue'> {
  readonly timestampValue?: readonly [seconds: string, nanos: string]
  readonly durationValue?: string
  readonly noneValue?: true
  readonly optionalValue?: OracleValue
  readonly ipValue?: string
  readonly cidrValue?: string
  readonly otherValue?: string
  readonly listValue?: { readonly values: readonly OracleValue[] }
  readonly mapValue?: { readonly entries: readonly { key: OracleValue; value: OracleValue }[] }
}

function readResponse(line: string): OracleResult {
  const { value, stage, error, type }: JsonResponse = JSON.parse(line)
  if (stage === 'env' || stage === 'vars') throw new Error(`a question it cannot take: ${error}`)
  const result = value === undefined ? 'error' : readResult(value)
  return { result, stage, message: error, type }
}

function readResult(json: OracleValue): string {
  if (json.otherValue !== undefined) return `a value of type ${json.otherValue}`
  return canonical(readValue(json))
}

function readValue(json: OracleValue): Value {
  if (json.timestampValue !== undefined) {
    const [seconds, nanos] = json.timestampValue
    return new Timestamp(Number(seconds), Number(nanos))
  }
  if (json.durationValue !== undefined) {
    return durationFromNanos(BigInt(json.durationValue)) as Value
  }
  if (json.noneValue) return Optional.none
  if (json.optionalValue !== undefined) return new Optional(readValue(json.optionalValue))
  if (json.ipValue !== undefined) return parseIp(json.ipValue) as Value
  if (json.cidrValue !== undefined) return parseCidr(json.cidrValue) as Value
  if (json.listValue !== undefined) return json.listValue.values.map(readValue)
  if (json.mapValue !== undefined) {
    const { entries } = json.mapValue
    return LiteralMap.of(entries.map((e) => [readValue(e.key), readValue(e.value)])) as Value
  }
  return toValue(json as JsonValue)
}

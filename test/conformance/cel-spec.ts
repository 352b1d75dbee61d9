import { tests as celSpec } from '@bufbuild/cel-spec/testdata/conformance.js'
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  param,
  STRING,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
} from '../../src/cel/check/types.ts'
import type { FunctionDeclaration } from '../../src/cel/library/define.ts'
import { parseDuration } from '../../src/cel/values/duration.ts'
import { fail } from '../../src/cel/values/failure.ts'
import { LiteralMap } from '../../src/cel/values/map.ts'
import { double, int, Uint } from '../../src/cel/values/number.ts'
import { TypeValue } from '../../src/cel/values/type-value.ts'
import type { Value } from '../../src/cel/values/value.ts'
import type { Expected, Json, JsonDecl, JsonType, JsonValue, SimpleTest } from './simple-test.ts'

/** A test of cel-spec, converted to the engine's own values and types. */
export interface SpecTest {
  /**
   * `comparisons/eq_literal/eq_int`; a `#2` suffix distinguishes names that cel-spec uses twice.
   */
  readonly name: string
  readonly suite: string
  readonly expression: string
  readonly container: string
  readonly checked: boolean
  readonly checkOnly: boolean
  readonly variables: ReadonlyMap<string, Type>
  readonly functions: readonly FunctionDeclaration[]
  readonly bindings: Readonly<Record<string, Value>>
  readonly expected: Expected
  /** The result of cel-go, recorded with the test: whether the expression parses, and its type. */
  readonly reference: { readonly parses: boolean; readonly type: string | undefined }
}

export interface SkippedTest {
  readonly name: string
  readonly suite: string
  readonly checkOnly: boolean
  readonly expression: string
  readonly reason: string
}

export interface Suites {
  readonly run: readonly SpecTest[]
  readonly skipped: readonly SkippedTest[]
}

export function readCelSpec(): Suites {
  const run: SpecTest[] = []
  const skipped: SkippedTest[] = []
  const seen = new Map<string, number>()
  for (const { path, original, ast, type } of flatten(celSpec as Json, [])) {
    const suite = path[0] ?? ''
    const plain = [...path, original.name].join('/')
    const times = (seen.get(plain) ?? 0) + 1
    seen.set(plain, times)
    const name = times === 1 ? plain : `${plain}#${times}`
    const reason = whySkipped(suite, original)
    if (reason === undefined) {
      run.push(adapt(name, suite, original, { parses: ast !== undefined, type }))
    } else {
      const checkOnly = original.checkOnly ?? false
      skipped.push({ name, suite, checkOnly, expression: original.expr, reason })
    }
  }
  return { run, skipped }
}

interface Entry {
  readonly path: readonly string[]
  readonly original: SimpleTest
  readonly ast: string | undefined
  readonly type: string | undefined
}

function* flatten(suite: Json, path: readonly string[]): Iterable<Entry> {
  for (const test of suite.tests ?? []) {
    yield { path, original: test.original, ast: test.ast, type: test.type }
  }
  for (const inner of suite.suites ?? []) yield* flatten(inner, [...path, inner.name])
}

/** Types in google.protobuf that belong to CEL itself and are not messages. */
const OWN_TYPES = new Set(['google.protobuf.Timestamp', 'google.protobuf.Duration'])

/** Returns the reason why a test does not apply, or undefined if the test is run. */
function whySkipped(suite: string, test: SimpleTest): string | undefined {
  if (suite === 'block_ext') return 'cel.block is what optimisers write, not people'
  const { container = '' } = test
  if (/^(google\.protobuf|cel\.expr\.conformance)\b/.test(container)) {
    return `protobuf: names are looked up in the package ${container}`
  }
  // Some parser tests put whitespace and comments between the parts of a name.
  const dense = test.expr.replaceAll(/\/\/.*$|\s+/gm, '')
  for (const [name] of dense.matchAll(/\b(?:google\.protobuf|cel\.expr\.conformance)\.[\w.]+/g)) {
    if (!OWN_TYPES.has(name)) return `protobuf: the expression names ${name}`
  }
  for (const decl of test.typeEnv ?? []) {
    for (const type of declaredTypes(decl)) {
      const message = messageType(type)
      if (message !== undefined) return `protobuf: ${decl.name} is a ${message}`
      const opaque = opaqueType(type)
      if (opaque !== undefined) return `${decl.name} needs a type of the host, ${opaque}`
    }
  }
  return undefined
}

function declaredTypes(decl: JsonDecl): readonly JsonType[] {
  if (decl.ident !== undefined) return [decl.ident.type]
  return (decl.function?.overloads ?? []).flatMap((o) => [...(o.params ?? []), o.resultType])
}

function messageType(type: JsonType): string | undefined {
  return type.messageType !== undefined && !OWN_TYPES.has(type.messageType)
    ? type.messageType
    : undefined
}

function opaqueType(type: JsonType): string | undefined {
  const name = type.abstractType?.name
  return name === 'optional_type' ? undefined : name
}

function adapt(
  name: string,
  suite: string,
  test: SimpleTest,
  reference: SpecTest['reference'],
): SpecTest {
  const variables = new Map<string, Type>()
  const functions: FunctionDeclaration[] = []
  for (const decl of test.typeEnv ?? []) {
    if (decl.ident !== undefined) variables.set(decl.name, toType(decl.ident.type))
    else functions.push(toFunction(decl))
  }
  const bindings: Record<string, Value> = Object.create(null)
  for (const [variable, { value }] of Object.entries(test.bindings ?? {})) {
    bindings[variable] = toValue(value)
    if (!variables.has(variable)) variables.set(variable, DYN)
  }
  return {
    name,
    suite,
    expression: test.expr,
    container: test.container ?? '',
    checked: !test.disableCheck,
    checkOnly: test.checkOnly ?? false,
    variables,
    functions,
    bindings,
    expected: expectation(test),
    reference,
  }
}

function expectation(test: SimpleTest): Expected {
  if (test.evalError !== undefined) return { kind: 'error' }
  if (test.value !== undefined) return { kind: 'value', value: toValue(test.value) }
  if (test.typedResult === undefined) return { kind: 'value', value: true }
  const { result, deducedType } = test.typedResult
  const type = toType(deducedType)
  return result === undefined
    ? { kind: 'type', type }
    : { kind: 'value', value: toValue(result), type }
}

const PRIMITIVES: Readonly<Record<string, Type>> = {
  BOOL,
  INT64: INT,
  UINT64: UINT,
  DOUBLE,
  STRING,
  BYTES,
}

function toType(type: JsonType): Type {
  if (type.primitive !== undefined) return known(PRIMITIVES[type.primitive], type)
  if (type.dyn !== undefined) return DYN
  if (type.null !== undefined) return NULL
  if (type.listType !== undefined) return listOf(toType(type.listType.elemType))
  if (type.mapType !== undefined) {
    return mapOf(toType(type.mapType.keyType), toType(type.mapType.valueType))
  }
  if (type.type !== undefined) return typeOf(toType(type.type))
  if (type.typeParam !== undefined) return param(type.typeParam)
  if (type.messageType === 'google.protobuf.Timestamp') return TIMESTAMP
  if (type.messageType === 'google.protobuf.Duration') return DURATION
  const element = type.abstractType?.parameterTypes?.[0]
  return optionalOf(toType(known(element, type)))
}

function toFunction(decl: JsonDecl): FunctionDeclaration {
  const overloads = (decl.function?.overloads ?? []).map((overload) => ({
    receiver: overload.isInstanceFunction ?? false,
    params: (overload.params ?? []).map(toType),
    result: toType(overload.resultType),
    call: () => fail('declared for the checker only'),
  }))
  return { name: decl.name, overloads }
}

export function toValue(json: JsonValue): Value {
  if ('nullValue' in json) return null
  if (json.boolValue !== undefined) return json.boolValue
  if (json.int64Value !== undefined) return known(int(BigInt(json.int64Value)), json)
  if (json.uint64Value !== undefined) return new Uint(BigInt(json.uint64Value))
  if (json.doubleValue !== undefined) return double(Number(json.doubleValue))
  if (json.stringValue !== undefined) return json.stringValue
  if (json.bytesValue !== undefined) return new Uint8Array(Buffer.from(json.bytesValue, 'base64'))
  if (json.typeValue !== undefined) return new TypeValue(json.typeValue)
  if (json.listValue !== undefined) return (json.listValue.values ?? []).map(toValue)
  if (json.mapValue !== undefined) {
    const entries = (json.mapValue.entries ?? []).map((e) => [toValue(e.key), toValue(e.value)])
    return known(LiteralMap.of(entries as [Value, Value][]), json)
  }
  // Enums without messages are ints, as in CEL's legacy semantics.
  if (json.enumValue !== undefined) return json.enumValue.value ?? 0
  if (json.objectValue?.['@type'] === 'type.googleapis.com/google.protobuf.Duration') {
    return known(parseDuration(json.objectValue.value ?? ''), json)
  }
  throw new Error(`no such value here: ${JSON.stringify(json)}`)
}

function known<T>(value: T | undefined, of: unknown): T {
  if (value === undefined) throw new Error(`cel-spec has something new: ${JSON.stringify(of)}`)
  return value
}

import type { Type } from '../../src/cel/check/types.ts'
import type { Value } from '../../src/cel/values/value.ts'

/** cel-spec's SimpleTest in protobuf's JSON form, limited to the fields that its data uses. */
export interface SimpleTest {
  readonly name: string
  readonly expr: string
  readonly container?: string
  readonly disableCheck?: boolean
  readonly checkOnly?: boolean
  readonly typeEnv?: readonly JsonDecl[]
  readonly bindings?: Readonly<Record<string, { readonly value: JsonValue }>>
  readonly value?: JsonValue
  readonly typedResult?: { readonly result?: JsonValue; readonly deducedType: JsonType }
  readonly evalError?: unknown
}

/** A folder of tests: its name, its tests with cel-go's results, and its subfolders. */
export interface Json {
  readonly name: string
  readonly suites?: readonly Json[]
  readonly tests?: readonly { original: SimpleTest; ast?: string; type?: string }[]
}

export interface JsonDecl {
  readonly name: string
  readonly ident?: { readonly type: JsonType }
  readonly function?: { readonly overloads: readonly JsonOverload[] }
}

export interface JsonOverload {
  readonly params?: readonly JsonType[]
  readonly resultType: JsonType
  readonly isInstanceFunction?: boolean
}

export interface JsonType {
  readonly primitive?: string
  readonly dyn?: unknown
  readonly null?: null
  readonly type?: JsonType
  readonly typeParam?: string
  readonly messageType?: string
  readonly wrapper?: string
  readonly listType?: { readonly elemType: JsonType }
  readonly mapType?: { readonly keyType: JsonType; readonly valueType: JsonType }
  readonly abstractType?: { readonly name: string; readonly parameterTypes?: readonly JsonType[] }
}

export interface JsonValue {
  readonly nullValue?: null
  readonly boolValue?: boolean
  readonly int64Value?: string
  readonly uint64Value?: string
  readonly doubleValue?: number | string
  readonly stringValue?: string
  readonly bytesValue?: string
  readonly typeValue?: string
  readonly enumValue?: { readonly type: string; readonly value?: number }
  readonly objectValue?: { readonly '@type': string; readonly value?: string }
  readonly listValue?: { readonly values?: readonly JsonValue[] }
  readonly mapValue?: {
    readonly entries?: readonly { readonly key: JsonValue; readonly value: JsonValue }[]
  }
}

/** An error matches any error. `type` without a value is a test of the checker. */
export type Expected =
  | { readonly kind: 'error'; readonly type?: undefined }
  | { readonly kind: 'type'; readonly type: Type }
  | { readonly kind: 'value'; readonly value: Value; readonly type?: Type }

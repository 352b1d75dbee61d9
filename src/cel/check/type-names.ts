import * as T from './types.ts'

/** Types that expressions can name, keyed by the names that `type(x)` returns. */
export const TYPE_NAMES: ReadonlyMap<string, T.Type> = new Map<string, T.Type>([
  ['null_type', T.NULL],
  ['bool', T.BOOL],
  ['int', T.INT],
  ['uint', T.UINT],
  ['double', T.DOUBLE],
  ['string', T.STRING],
  ['bytes', T.BYTES],
  ['list', T.listOf(T.DYN)],
  ['map', T.mapOf(T.DYN, T.DYN)],
  ['type', T.typeOf(T.DYN)],
  ['optional_type', T.optionalOf(T.DYN)],
  ['google.protobuf.Timestamp', T.TIMESTAMP],
  ['google.protobuf.Duration', T.DURATION],
  ['net.IP', T.IP],
  ['net.CIDR', T.CIDR],
  ['kubernetes.URL', T.URL_TYPE],
  ['kubernetes.Semver', T.SEMVER],
  ['kubernetes.Quantity', T.QUANTITY],
])

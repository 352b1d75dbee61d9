import type { Cidr } from './cidr.ts'
import type { Duration } from './duration.ts'
import type { Ip } from './ip.ts'
import type { CelMap } from './map.ts'
import type { Double, Uint } from './number.ts'
import type { Optional } from './optional.ts'
import type { Quantity } from './quantity.ts'
import type { Semver } from './semver.ts'
import type { Struct } from './struct.ts'
import type { Timestamp } from './timestamp.ts'
import type { TypeValue } from './type-value.ts'
import type { Url } from './url.ts'

/**
 * A CEL value in JavaScript. The output of JSON.parse is a CEL value as it is:
 *
 * | CEL       | JavaScript                                                                  |
 * |-----------|-----------------------------------------------------------------------------|
 * | int       | number if Number.isSafeInteger, else bigint (never a bigint that is safe)   |
 * | uint      | Uint                                                                        |
 * | double    | number if not a safe integer (0.5, NaN, 1e300), else boxed in Double        |
 * | string    | string, well-formed; sizes and indices count code points                    |
 * | bytes     | Uint8Array                                                                  |
 * | list      | array                                                                       |
 * | map       | plain object (own string keys), or CelMap                                   |
 * | an object of the host | Struct                                                          |
 *
 * `undefined` is not a value but CEL's error, the same for an unset variable, a missing key and a
 * failed function. Explain mode reports what went wrong (see ./failure.ts).
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | Uint
  | Double
  | Timestamp
  | Duration
  | TypeValue
  | Optional
  | Ip
  | Cidr
  | Url
  | Semver
  | Quantity
  | CelMap
  | Struct
  | readonly Value[]
  | JsonObject

export interface JsonObject {
  readonly [key: string]: Value
}

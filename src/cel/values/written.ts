import { Cidr } from './cidr.ts'
import { Duration } from './duration.ts'
import { Ip } from './ip.ts'
import { Quantity } from './quantity.ts'
import { Semver } from './semver.ts'
import { Timestamp } from './timestamp.ts'
import { Url } from './url.ts'
import type { Value } from './value.ts'

/** Values with a single string form, which `string()` returns and which JSON contains. */
type Written = Timestamp | Duration | Ip | Cidr | Url | Semver | Quantity

const CLASSES = [Timestamp, Duration, Ip, Cidr, Url, Semver, Quantity]

export function isWritten(value: Value): value is Written {
  return CLASSES.some((one) => value instanceof one)
}

import { AUTHENTICATION_CODES } from './codes/authentication.ts'
import { CEL_CODES } from './codes/cel.ts'
import type { CodeGroup, CodeRecord } from './codes/define.ts'
import { DELIVERY_CODES } from './codes/delivery.ts'
import { FILE_CODES } from './codes/file.ts'
import { GENERAL_CODES } from './codes/general.ts'
import { KUBERNETES_CODES } from './codes/kubernetes.ts'
import { LINT_CODES } from './codes/lint.ts'
import { REFERENCE_CODES } from './codes/references.ts'
import { SERVING_CODES } from './codes/serving.ts'
import { TESTING_CODES } from './codes/testing.ts'

/** Every code that a Diagnostic can carry, in order. */
export const CATALOGUE: readonly CodeGroup[] = [
  LINT_CODES,
  GENERAL_CODES,
  CEL_CODES,
  FILE_CODES,
  REFERENCE_CODES,
  SERVING_CODES,
  AUTHENTICATION_CODES,
  TESTING_CODES,
  KUBERNETES_CODES,
  DELIVERY_CODES,
]

const BY_CODE: ReadonlyMap<string, CodeRecord> = new Map(
  CATALOGUE.flatMap((group) => group.codes.map((record) => [record.code, record])),
)

export function describeCode(code: string): CodeRecord | undefined {
  return BY_CODE.get(code)
}

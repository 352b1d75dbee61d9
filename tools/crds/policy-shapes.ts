import { plainSchema } from '../../src/policies/schema.ts'
import { type Structural, toStructural } from './structural.ts'

/** Kinds that are route filters in the Gateway API, or that are set elsewhere. */
export const ELSEWHERE: readonly string[] = [
  'urlRewrite',
  'requestRedirect',
  'requestMirror',
  'requestHeaders',
  'responseHeaders',
  'mcpAuthorization',
  // Set by an InferencePool.
  'inferenceRouting',
]

/** Kinds that have a different shape or name in Kubernetes. */
export const shaped = new Set([...ELSEWHERE, 'transformations'])

export function of(
  kind: string,
  replaced: Readonly<Record<string, Structural | undefined>> = {},
): Structural {
  shaped.add(kind)
  return toStructural(plainSchema(kind), replaced)
}

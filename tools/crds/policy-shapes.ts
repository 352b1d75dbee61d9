import { plainSchema } from '../../src/policies/schema.ts'
import { type Structural, toStructural } from './structural.ts'

/** What the Gateway API does with filters of routes, or what has another place there. */
export const ELSEWHERE: readonly string[] = [
  'urlRewrite',
  'requestRedirect',
  'requestMirror',
  'requestHeaders',
  'responseHeaders',
  'mcpAuthorization',
  // An InferencePool says it.
  'inferenceRouting',
]

/** Kinds that have a shape or a name of their own in Kubernetes. */
export const shaped = new Set([...ELSEWHERE, 'transformations'])

export function of(
  kind: string,
  replaced: Readonly<Record<string, Structural | undefined>> = {},
): Structural {
  shaped.add(kind)
  return toStructural(plainSchema(kind), replaced)
}

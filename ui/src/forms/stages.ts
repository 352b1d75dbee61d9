import type { Stage } from '../../../src/cel/index.ts'
import { POLICY_SCHEMAS, STAGE_OF_SECTION } from '../../../src/policies/schema.ts'
import type { FieldPath } from '../text/places.ts'

/** Below these keys, expressions are evaluated after a backend is selected. */
const CHOSEN = ['backends', 'backend', 'models', 'providers']
const POLICIES = new Map(POLICY_SCHEMAS.map((policy) => [policy.kind, policy]))

/** The stage of the expressions of a definition, if it is that of a policy. */
export function stageOfPolicy(
  name: string | undefined,
  kind: string,
  path: FieldPath,
): Stage | undefined {
  const policy = POLICIES.get(name ?? '')
  if (policy === undefined) return undefined
  if (policy.stage !== undefined) return policy.stage
  const { frontend, traffic, backend } = policy.sections
  const isChosen = kind === 'backends' || path.some((step) => CHOSEN.includes(String(step)))
  const section =
    traffic !== undefined && !(isChosen && backend !== undefined)
      ? 'traffic'
      : backend !== undefined
        ? 'backend'
        : frontend !== undefined
          ? 'frontend'
          : 'traffic'
  return STAGE_OF_SECTION[section]
}

import * as z from 'zod'
import type { Level, Section } from '../../../model/policy.ts'
import { name, oneOfKeys } from '../../../policies/schema.ts'
import type { Targeted } from '../../../reach/checks/draft.ts'
import { invalidPolicy, policiesSchema, readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'

const qualified = z.union([
  name(),
  z
    .strictObject({
      name: name().describe('The name.'),
      namespace: name().optional().describe('A prefix of the name, separated by a slash.'),
    })
    .transform(({ name, namespace }) => (namespace === undefined ? name : `${namespace}/${name}`)),
])

const gatewayTarget = z.union([
  name().transform((gateway) => ({ gateway })),
  z
    .strictObject({
      gatewayName: name().describe('The gateway.'),
      gatewayNamespace: z.string().optional().describe('Ignored in configuration files.'),
      listenerName: name().optional().describe('A listener of the gateway.'),
    })
    .transform(({ gatewayName, listenerName }) =>
      listenerName === undefined
        ? { gateway: gatewayName }
        : { gateway: gatewayName, listener: listenerName },
    ),
])

const routeTarget = z.union([
  name(),
  z
    .strictObject({
      name: name().describe('The route.'),
      namespace: z.string().optional().describe('The namespace of the route.'),
      ruleName: name().optional().describe('A rule of the route.'),
    })
    .transform(({ name, namespace, ruleName }) =>
      [namespace || undefined, name, ruleName].filter((part) => part !== undefined).join('/'),
    ),
])

const targetShape = {
  gateway: gatewayTarget.optional().describe('A gateway or one of its listeners.'),
  route: routeTarget.optional().describe('A route.'),
  backend: qualified.optional().describe('An entry of `backends`.'),
}

const targetSchema = oneOfKeys(z.strictObject(targetShape), ['gateway', 'route', 'backend']).meta({
  id: 'policy-target',
})

const head = {
  name: qualified.describe('The name in messages, records and metrics.'),
  target: targetSchema.optional().describe('The resource that the policy applies to.'),
  targets: z
    .array(targetSchema)
    .min(1)
    .max(16)
    .optional()
    .describe('The resources that the policy applies to, if there are several.'),
  phase: z
    .enum(['gateway', 'route'])
    .optional()
    .describe('Accepted for compatibility; has no effect.'),
}

const outline = oneOfKeys(z.strictObject(head), ['target', 'targets'])

const targetsOnly = oneOfKeys(
  z.looseObject({
    name: qualified.optional().catch(undefined),
    target: head.target,
    targets: head.targets,
  }),
  ['target', 'targets'],
)

const traffic = () => policiesSchema(['traffic'], 'route')
const backend = () => policiesSchema(['backend'], 'backend')

export const targetedPolicySchema = z.strictObject({
  ...head,
  policy: policiesSchema(['traffic', 'backend'], 'route')
    .optional()
    .describe('The policies, by section.'),
  traffic: traffic()
    .optional()
    .describe('Policies for requests, applied before a backend is chosen.'),
  backend: backend().optional().describe('Policies for the chosen backend.'),
  frontend: policiesSchema(['frontend'], 'gateway')
    .optional()
    .describe('Policies for connections. Gateways only.'),
})

const SECTIONS: Readonly<Record<string, readonly Section[]>> = {
  frontend: ['frontend'],
  traffic: ['traffic'],
  backend: ['backend'],
  policy: ['traffic', 'backend'],
}

/** Reads one entry of `policies`. */
export function readTargeted(reading: Reading, node: SectionNode): readonly Targeted[] {
  const head = parseAt(reading, outline, node, { except: Object.keys(SECTIONS) })
  const value = head.value ?? targetsOf(node)
  if (value === undefined) return []
  const { name, target, targets, phase } = value
  if (phase !== undefined) {
    const message = '`phase` has no effect: a policy applies to everything that its target serves'
    complain(reading, node.inner('phase'), { code: 'PC0221', severity: 'warning', message }, 'key')
  }
  const all: (readonly [z.output<typeof targetSchema>, SectionNode])[] = (targets ?? []).map(
    (one, index) => [one, node.inner('targets', index)],
  )
  if (target !== undefined) all.push([target, node.inner('target')])
  const whole = node.place
  return all.map(([one, at]) => {
    const { gateway, route, backend } = one
    const noun = nounOf(one)
    const named =
      gateway === undefined
        ? ((route ?? backend) as string)
        : [gateway.gateway, 'listener' in gateway ? gateway.listener : undefined]
            .filter((part) => part !== undefined)
            .join('/')
    const level = noun satisfies Level
    const read = Object.entries(SECTIONS).flatMap(([key, sections]) =>
      readPolicies(reading, node.inner(key), {
        sections: noun === 'backend' && key === 'policy' ? ['backend'] : sections,
        level,
        policy: name,
      }),
    )
    // The invalid section is unknown, so everything that the policy could guard is denied.
    const widest = { sections: [MAX_WIDTH[noun]], level, policy: name }
    const policies =
      head.value === undefined
        ? [invalidPolicy(node, 'policies', widest, head.diagnostics), ...read]
        : read
    return { name, noun, target: named, policies, place: at.place, whole }
  })
}

/** The section in which an invalid policy denies everything that it could guard, by target. */
const MAX_WIDTH: Readonly<Record<Targeted['noun'], Section>> = {
  gateway: 'frontend',
  listener: 'traffic',
  route: 'traffic',
  backend: 'backend',
}

/** The targets of a policy with errors, if they can be read: the policy denies there. */
function targetsOf(node: SectionNode) {
  const { data } = targetsOnly.safeParse(node.value)
  if (data === undefined) return undefined
  const number = String(node.step)
  return { ...data, name: data.name ?? `section:policies/${number}`, phase: undefined }
}

function nounOf({ gateway, route }: z.output<typeof targetSchema>): Targeted['noun'] {
  if (gateway !== undefined) return 'listener' in gateway ? 'listener' : 'gateway'
  return route === undefined ? 'backend' : 'route'
}

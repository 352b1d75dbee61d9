import { atMostOne, list, number, object, type Structural, text, words } from './structural.ts'

const group = (initial: string): Structural => ({
  description: 'The API group. Empty for the core group.',
  type: 'string',
  maxLength: 253,
  pattern: '^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
  default: initial,
})

const KIND = { maxLength: 63, pattern: '^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$' }
const NAMESPACE = { maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' }
export const objectName = (what: string) => text(what, { maxLength: 253 })

/** A backend: a Service with a port, or another kind that the controller supports. */
export const backendRef = (what: string): Structural =>
  object(
    what,
    {
      group: group(''),
      kind: { ...text('The kind.', KIND), default: 'Service' },
      'name!': objectName('The name.'),
      namespace: text(
        'The namespace. A different namespace requires a ReferenceGrant there.',
        NAMESPACE,
      ),
      port: number('The port. Required for a Service.', 1, 65_535),
    },
    {
      rule: "self.group != '' || self.kind != 'Service' || has(self.port)",
      message: 'port is required for a Service',
    },
  )

/** A key of a Secret in the namespace of the object. */
export const secretKeyRef = (what: string, key: string): Structural =>
  object(what, {
    'name!': objectName('The name of the Secret.'),
    key: { ...text('The key in the Secret.', { maxLength: 253 }), default: key },
  })

/** A key of a ConfigMap in the namespace of the object. */
export const configMapKeyRef = (what: string, key: string): Structural =>
  object(what, {
    'name!': objectName('The name of the ConfigMap.'),
    key: { ...text('The key in the ConfigMap.', { maxLength: 253 }), default: key },
  })

export const secretRef = (what: string): Structural =>
  object(what, { 'name!': objectName('The name of the Secret.') })

export const matchLabels: Structural = {
  description: 'Labels that must all match.',
  type: 'object',
  minProperties: 1,
  maxProperties: 64,
  additionalProperties: { type: 'string', maxLength: 63 },
}

export const labelSelector = (what: string): Structural => ({
  ...object(what, {
    matchLabels: { ...matchLabels, minProperties: 0 },
    matchExpressions: list(
      'Conditions that must all be met.',
      object('A condition.', {
        'key!': text('The label.', { maxLength: 317 }),
        'operator!': words('The operator.', ['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: list('The values.', { type: 'string', maxLength: 63 }, 0, 64),
      }),
      0,
      32,
    ),
  }),
})

const sectionName = text('A section of the target: a listener, rule, port or provider.', {
  maxLength: 253,
})

/** The targets of a policy, by name. */
export const targetRefs: Structural = {
  ...list(
    'The objects that the policy applies to, in its own namespace.',
    object(
      'An object.',
      {
        'group!': omitDefault(group('')),
        'kind!': text('The kind.', KIND),
        'name!': objectName('The name.'),
        sectionName,
        port: number('A port of the gateway. Only for `frontend`.', 1, 65_535),
      },
      atMostOne('sectionName', 'port'),
    ),
    1,
    16,
  ),
  'x-kubernetes-list-type': 'atomic',
}

/** The targets of a policy, by label. */
export const targetSelectors: Structural = {
  ...list(
    'The objects that the policy applies to, selected by labels, in its own namespace.',
    object(
      'Objects.',
      {
        'group!': omitDefault(group('')),
        'kind!': text('The kind.', KIND),
        'matchLabels!': matchLabels,
        sectionName,
        port: number('A port of the gateway. Only for `frontend`.', 1, 65_535),
      },
      atMostOne('sectionName', 'port'),
    ),
    1,
    16,
  ),
  'x-kubernetes-list-type': 'atomic',
}

export const parentRefs: Structural = {
  ...list(
    'The gateways, or rules of routes, to attach to.',
    object('A parent.', {
      group: group('gateway.networking.k8s.io'),
      kind: { ...words('The kind.', ['Gateway', 'ListenerSet', 'HTTPRoute']), default: 'Gateway' },
      'name!': objectName('The name.'),
      namespace: text('The namespace.', NAMESPACE),
      sectionName,
      port: number('A port of the gateway.', 1, 65_535),
    }),
    1,
    16,
  ),
  'x-kubernetes-list-type': 'atomic',
}

function omitDefault({ default: _, ...rest }: Structural): Structural {
  return rest
}

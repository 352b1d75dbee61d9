import { list, object, type Structural } from './structural.ts'

const TIME = { type: 'string', format: 'date-time' }

/** Standard Kubernetes conditions. */
const conditions: Structural = {
  ...list(
    'The conditions of the object.',
    object('A condition.', {
      'type!': { description: 'The type of the condition.', type: 'string', maxLength: 316 },
      'status!': {
        description: 'The status of the condition.',
        type: 'string',
        enum: ['True', 'False', 'Unknown'],
      },
      'reason!': {
        description: 'A machine-readable reason.',
        type: 'string',
        minLength: 1,
        maxLength: 1024,
      },
      'message!': { description: 'A human-readable message.', type: 'string', maxLength: 32_768 },
      observedGeneration: {
        description: 'The generation that the condition is based on.',
        type: 'integer',
        format: 'int64',
        minimum: 0,
      },
      'lastTransitionTime!': { description: 'When the condition last changed.', ...TIME },
    }),
    0,
    8,
  ),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
}

export const conditionsStatus = object('The status reported by the controller.', { conditions })

const reference: Structural = object('The object.', {
  group: { description: 'The API group.', type: 'string', maxLength: 253 },
  kind: { description: 'The kind.', type: 'string', maxLength: 63 },
  'name!': { description: 'The name.', type: 'string', maxLength: 253 },
  namespace: { description: 'The namespace.', type: 'string', maxLength: 63 },
  sectionName: { description: 'A section of the object.', type: 'string', maxLength: 253 },
  port: { description: 'A port of the object.', type: 'integer', format: 'int32' },
})

function statusBy(member: string, ref: string, what: string): Structural {
  const entries = list(
    what,
    object('The status reported by one controller.', {
      [`${ref}!`]: reference,
      'controllerName!': {
        description: 'The name of the controller.',
        type: 'string',
        minLength: 1,
        maxLength: 253,
      },
      conditions,
    }),
    0,
    32,
  )
  return object('The status reported by controllers.', {
    [member]: { ...entries, 'x-kubernetes-list-type': 'atomic' },
  })
}

/** The status of a policy for each gateway that it applies to. */
export const policyStatus = statusBy(
  'ancestors',
  'ancestorRef',
  'The status for each gateway that the policy applies to.',
)

/** The status of an object for each gateway or route that it belongs to. */
export const parentsStatus = statusBy('parents', 'parentRef', 'The status for each parent.')

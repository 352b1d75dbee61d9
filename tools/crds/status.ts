import { list, object, type Structural } from './structural.ts'

const TIME = { type: 'string', format: 'date-time' }

/** Conditions as all of Kubernetes has them. */
const conditions: Structural = {
  ...list(
    'What is known of it.',
    object('A condition.', {
      'type!': { description: 'What it is about.', type: 'string', maxLength: 316 },
      'status!': {
        description: 'Whether it holds.',
        type: 'string',
        enum: ['True', 'False', 'Unknown'],
      },
      'reason!': { description: 'Why, in a word.', type: 'string', minLength: 1, maxLength: 1024 },
      'message!': { description: 'Why, in words.', type: 'string', maxLength: 32_768 },
      observedGeneration: {
        description: 'The generation that was looked at.',
        type: 'integer',
        format: 'int64',
        minimum: 0,
      },
      'lastTransitionTime!': { description: 'When it changed last.', ...TIME },
    }),
    0,
    8,
  ),
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
}

export const conditionsStatus = object('What the controller says of it.', { conditions })

const reference: Structural = object('The object.', {
  group: { description: 'The API group.', type: 'string', maxLength: 253 },
  kind: { description: 'The kind.', type: 'string', maxLength: 63 },
  'name!': { description: 'The name.', type: 'string', maxLength: 253 },
  namespace: { description: 'The namespace.', type: 'string', maxLength: 63 },
  sectionName: { description: 'A part of it.', type: 'string', maxLength: 253 },
  port: { description: 'A port of it.', type: 'integer', format: 'int32' },
})

function statusBy(member: string, ref: string, what: string): Structural {
  const entries = list(
    what,
    object('What one controller says.', {
      [`${ref}!`]: reference,
      'controllerName!': {
        description: 'Who says so.',
        type: 'string',
        minLength: 1,
        maxLength: 253,
      },
      conditions,
    }),
    0,
    32,
  )
  return object('What controllers say of it.', {
    [member]: { ...entries, 'x-kubernetes-list-type': 'atomic' },
  })
}

/** Of a policy, for each gateway that it reaches. */
export const policyStatus = statusBy(
  'ancestors',
  'ancestorRef',
  'For each gateway that it reaches.',
)

/** Of something that belongs to gateways or routes, for each of them. */
export const parentsStatus = statusBy('parents', 'parentRef', 'For each parent.')

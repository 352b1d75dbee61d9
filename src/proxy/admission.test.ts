import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Connection } from '../exchange/connection.ts'
import type { Decision } from '../exchange/decision.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { AcceptedSocket } from './accept-deps.ts'
import { admit, reauthorize } from './admission.ts'
import type { PortPlan } from './port-plan.ts'

const CONNECTION = {} as Connection
const ALLOW = { isAllowed: true, isEnforced: true } as Decision
const DENY = { isAllowed: false, isEnforced: true } as Decision
const WOULD_DENY = { isAllowed: false, isEnforced: false } as Decision

/** A listener with this decision; undefined: it has no rules. */
function listenerOf(name: string, decision: Decision | undefined): ListenerProgram {
  const network = decision === undefined ? undefined : { decide: () => decision }
  return { gateway: 'g', listener: { name, protocol: 'HTTP' }, network } as never
}

function acceptedOf(parts: object = {}) {
  const log: string[] = []
  const observer = {
    decided: (_: unknown, { listener }: ListenerProgram, { isAllowed }: Decision) =>
      void log.push(`${listener.name} ${isAllowed ? 'allows' : 'denies'}`),
    rejected: () => void log.push('rejected'),
  }
  const accepted = {
    boundPort: { acceptDeps: { observer } },
    fits: () => true,
    admitted: CONNECTION,
    served: undefined,
    carrier: {},
    reject: (reason: string) => void log.push(`closed: ${reason}`),
    end: (grace: number) => void log.push(`ends in ${grace}`),
    ...parts,
  }
  return { accepted: accepted as unknown as AcceptedSocket, log }
}

describe('a connection', () => {
  for (const [decisions, expected, isAdmitted] of [
    [[], [], true],
    [[undefined, undefined], [], true],
    [[ALLOW], ['0 allows'], true],
    [[ALLOW, ALLOW], ['0 allows'], true],
    [[undefined, ALLOW, ALLOW], ['1 allows'], true],
    [[WOULD_DENY, ALLOW], ['0 denies'], true],
    [[ALLOW, DENY, ALLOW], ['0 allows', '1 denies', 'closed: authorization'], false],
    [[DENY, DENY], ['0 denies', 'closed: authorization'], false],
    [[WOULD_DENY, DENY], ['0 denies', '1 denies', 'closed: authorization'], false],
  ] as const) {
    const title = decisions.map((one) => {
      return one === undefined
        ? 'no rules'
        : one === ALLOW
          ? 'allow'
          : one === DENY
            ? 'deny'
            : 'audit'
    })
    it(`for listeners with ${title.join(', ') || 'nothing'} is ${isAdmitted ? 'admitted' : 'closed'}`, () => {
      const { accepted, log } = acceptedOf()
      const listeners = decisions.map((one, at) => listenerOf(`${at}`, one))
      const permit = admit(accepted, CONNECTION, listeners)
      assert.equal(permit !== undefined, isAdmitted)
      assert.deepEqual(log, expected)
    })
  }
})

describe('an admitted connection under new rules', () => {
  const planOf = (...decisions: readonly (Decision | undefined)[]) =>
    ({ listeners: decisions.map((one, at) => listenerOf(`${at}`, one)), address: '' }) as never
  const ENDED = ['1 denies', 'rejected', 'ends in 70']
  for (const [sentence, plan, parts, expected] of [
    ['that allow it goes on', planOf(ALLOW, ALLOW), {}, []],
    ['that do not exist goes on', planOf(undefined, undefined), {}, []],
    ['that would deny it goes on', planOf(WOULD_DENY), {}, []],
    ['of which one denies it ends', planOf(ALLOW, DENY, DENY), {}, ENDED],
    [
      'that deny it ends, if it is for that listener',
      planOf(ALLOW, DENY),
      { listener: listenerOf('1', ALLOW) },
      ENDED,
    ],
    [
      'that deny it for another listener goes on',
      planOf(ALLOW, DENY),
      { listener: listenerOf('0', ALLOW) },
      [],
    ],
    [
      'is not asked before the old ones have decided',
      planOf(DENY, DENY),
      { admitted: undefined },
      [],
    ],
    [
      'ends without being asked if its port changed',
      planOf(DENY),
      { fits: () => false },
      ['ends in 70'],
    ],
  ] as const) {
    it(sentence, () => {
      const { accepted, log } = acceptedOf(parts)
      reauthorize(accepted, plan as PortPlan, 70)
      assert.deepEqual(log, expected)
    })
  }
})

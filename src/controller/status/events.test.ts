import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EventWriter, noticesOf } from './events.ts'

const OWN = 'portcullis.dev/controller'
const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'a', name: 'web' }
const condition = (type: string, status: string, reason: string, message = '') => ({
  type,
  status,
  reason,
  message,
})
const policy = (...conditions: readonly object[]) => ({
  ancestors: [{ ancestorRef: GATEWAY, controllerName: OWN, conditions }],
})
const said = (kind: string, before: object, after: object) =>
  noticesOf(kind, before as never, after as never, OWN).map(
    ({ type, reason, note }) => `${type} ${reason} ${note}`,
  )

const BAD = condition('RulesHealthy', 'False', 'NeverMatches', 'spec.x: no')
const GOOD = condition('RulesHealthy', 'True', 'Healthy')

describe('notices', () => {
  // biome-ignore format: a table
  const ROWS: Readonly<Record<string, readonly [string, object, object, readonly string[]]>> = {
    'a condition that is bad at once': ['ProxyPolicy', {}, policy(BAD), ['Warning NeverMatches Gateway a/web: RulesHealthy is False: spec.x: no']],
    'one that is good at once': ['ProxyPolicy', {}, policy(GOOD), []],
    'one that stays bad': ['ProxyPolicy', policy(BAD), policy(BAD), []],
    'one that is bad for the same reason in other words': ['ProxyPolicy', policy(BAD), policy({ ...BAD, message: 'other' }), []],
    'one that is bad for another reason': ['ProxyPolicy', policy(BAD), policy({ ...BAD, reason: 'Invalid' }), ['Warning Invalid Gateway a/web: RulesHealthy is False: spec.x: no']],
    'one that is good again': ['ProxyPolicy', policy(BAD), policy(GOOD), ['Normal Healthy Gateway a/web: RulesHealthy is True']],
    'a loser of a conflict': ['ProxyPolicy', {}, policy(condition('Overridden', 'True', 'Overridden', 'by b')), ['Warning Overridden Gateway a/web: Overridden is True: by b']],
    'what waits': ['Gateway', {}, { conditions: [condition('Programmed', 'False', 'Pending')] }, []],
    'a Gateway that is served': ['Gateway', { conditions: [condition('Programmed', 'False', 'Pending')] }, { conditions: [condition('Programmed', 'True', 'Programmed', '1 of 1')] }, ['Normal Programmed Programmed is True: 1 of 1']],
    'a Gateway that is still served': ['Gateway', { conditions: [condition('Programmed', 'True', 'Programmed', '1 of 1')] }, { conditions: [condition('Programmed', 'True', 'Programmed', '2 of 2')] }, []],
    'a listener': ['Gateway', {}, { listeners: [{ name: 'http', conditions: [condition('ResolvedRefs', 'False', 'InvalidCertificateRef', 'none'), condition('Conflicted', 'False', 'NoConflicts')] }] }, ['Warning InvalidCertificateRef listener http: ResolvedRefs is False: none']],
    'what another controller wrote': ['ProxyPolicy', {}, { ancestors: [{ ancestorRef: GATEWAY, controllerName: 'example.com/x', conditions: [BAD] }] }, []],
  }
  for (const [title, [kind, before, after, expected]] of Object.entries(ROWS)) {
    it(title, () => assert.deepEqual(said(kind, before, after), expected))
  }

  it('a note is never longer than API servers accept, and ends with a whole character', () => {
    for (const filler of ['x', 'ü', '🙂']) {
      const long = policy({ ...BAD, message: filler.repeat(2000) })
      const [{ note } = { note: '' }] = noticesOf('ProxyPolicy', {}, long, OWN)
      assert.ok(Buffer.byteLength(note) <= 1024)
      assert.doesNotMatch(note, /\uFFFD/)
      assert.ok(note.endsWith('…'))
    }
  })
})

describe('EventWriter', () => {
  const live = {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: 'p', namespace: 'a', uid: 'u', resourceVersion: '7' },
  }
  const writer = (status: number) => {
    const sent: { readonly path: string; readonly body: Record<string, unknown> }[] = []
    const failures: string[] = []
    const clock = { now: 1_000_000 }
    const events = new EventWriter({
      client: {
        request: async (_, path, options) => {
          sent.push({ path, body: options?.body as Record<string, unknown> })
          return { status, body: {} }
        },
      },
      controllerName: OWN,
      instance: 'pod-1',
      onFailure: (message) => failures.push(message),
      now: () => clock.now,
    })
    return { events, sent, failures, clock }
  }

  it('writes the object and the reason', async () => {
    const { events, sent } = writer(201)
    await events.record(live, policy(BAD))
    assert.equal(sent[0]?.path, '/apis/events.k8s.io/v1/namespaces/a/events')
    const { metadata, ...body } = sent[0]?.body ?? {}
    assert.match((metadata as { readonly name: string }).name, /^p\.[0-9a-f]+$/)
    assert.deepEqual(body, {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      eventTime: '1970-01-01T00:16:40.000000Z',
      reportingController: OWN,
      reportingInstance: 'pod-1',
      action: 'Status',
      regarding: {
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'ProxyPolicy',
        namespace: 'a',
        name: 'p',
        uid: 'u',
        resourceVersion: '7',
      },
      type: 'Warning',
      reason: 'NeverMatches',
      note: 'Gateway a/web: RulesHealthy is False: spec.x: no',
    })
  })

  it('limits a burst of a thousand, and records later events', async () => {
    const { events, sent, clock } = writer(201)
    for (let n = 0; n < 1000; n++) await events.record(live, policy(BAD))
    assert.equal(sent.length, 50)
    clock.now += 3_500
    for (let n = 0; n < 10; n++) await events.record(live, policy(BAD))
    assert.equal(sent.length, 53)
    const names = sent.map(({ body }) => (body['metadata'] as { readonly name: string }).name)
    assert.equal(new Set(names).size, names.length)
  })

  it('drops an event that cannot be written, and reports it', async () => {
    const { events, failures } = writer(403)
    await events.record(live, policy(BAD))
    assert.deepEqual(failures, ['403: {}'])
  })
})

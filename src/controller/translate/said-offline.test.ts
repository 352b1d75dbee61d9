import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { defaultSettings } from '../../sources/file/sections/config.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { readManifests, withClasses } from '../manifests.ts'
import type { Condition, ObjectStatus } from './conditions.ts'
import { type Translation, translate } from './translate.ts'

const FOLDER = join(import.meta.dirname, 'cases')
const CONTROLLER = 'portcullis.dev/controller'
/** Conditions that are bad if they are true. */
const BAD_WHEN_TRUE: ReadonlySet<string> = new Set(['PartiallyInvalid', 'Conflicted', 'Overridden'])

const ATTACHED = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: web, namespace: shop }
spec: { parentRefs: [{ name: edge }], rules: [{ backendRefs: [{ name: web, port: 80 }] }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: alone, namespace: shop }
spec: { rules: [{ backendRefs: [{ name: web, port: 80 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { ports: [{ name: http, port: 80 }] }
---
apiVersion: v1
kind: Service
metadata: { name: unused, namespace: shop }
spec: { ports: [{ name: http, port: 80 }] }
`
const GATEWAY = `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec: { gatewayClassName: portcullis, listeners: [{ name: http, protocol: HTTP, port: 80 }] }
`
const policy = (target: string, section: string) => `---
apiVersion: portcullis.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: guard, namespace: shop }
spec:
  targetRefs: [{ ${target} }]
  ${section}: { authorization: { action: Allow, policy: { matchExpressions: ["request.path == '/a'"] } } }
`
const ROUTE = 'group: gateway.networking.k8s.io, kind: HTTPRoute'

function outcomeOf(text: string, assumesMissing: boolean): Translation {
  const { objects, diagnostics } = readManifests([{ file: 'case.yaml', text }])
  assert.deepEqual(diagnostics, [])
  const options = { controllerName: CONTROLLER, settings: defaultSettings(), assumesMissing }
  return translate(snapshotOf(withClasses(objects, CONTROLLER)), options)
}

function badIn(status: ObjectStatus): readonly Condition[] {
  const { conditions = [], listeners = [], parents = [], ancestors = [] } = status
  const entries = [...listeners, ...parents, ...ancestors]
  return [...conditions, ...entries.flatMap((entry) => entry.conditions)].filter(
    (condition) => condition.status === (BAD_WHEN_TRUE.has(condition.type) ? 'True' : 'False'),
  )
}

function isAbout({ kind, namespace, name }: ObjectStatus, { origin }: Diagnostic): boolean {
  const key = namespace === '' ? name : `${namespace}/${name}`
  return origin.kind === 'object' && origin.object === `${kind} ${key}`
}

/** Whether a diagnostic and a condition have the same reason in their words. */
function isSame({ type, reason, message }: Condition, diagnostic: Diagnostic): boolean {
  if (type === 'Overridden') return diagnostic.message.startsWith('overridden: ')
  // An invalid target is an error, which is all there is to say.
  if (reason === 'Pending' && diagnostic.severity === 'error') return true
  const text = `${diagnostic.message} ${diagnostic.hint ?? ''}`
  return text.includes(message) || message.includes(diagnostic.message)
}

describe('what a status says', () => {
  const files = globSync('*.yaml', { cwd: FOLDER }).filter((name) => !name.endsWith('.out.yaml'))
  for (const file of files.sort()) {
    it(`${file}: is said about manifests, too`, () => {
      const text = readFileSync(join(FOLDER, file), 'utf8')
      for (const assumesMissing of [false, true]) {
        const { statuses, diagnostics } = outcomeOf(text, assumesMissing)
        for (const status of statuses) {
          const about = diagnostics.filter((diagnostic) => isAbout(status, diagnostic))
          for (const bad of badIn(status)) {
            const isStated = about.some((diagnostic) => isSame(bad, diagnostic))
            assert.ok(isStated, `${status.kind} ${status.name}: ${JSON.stringify(bad)}`)
          }
        }
      }
    })
  }

  for (const [what, target, section] of [
    ['a route without a parent', `${ROUTE}, name: alone`, 'traffic'],
    ['a Service that no route uses', 'group: "", kind: Service, name: unused', 'backend'],
  ] as const) {
    it(`a policy for ${what} is pending, and manifests get a warning`, () => {
      const { statuses, diagnostics } = outcomeOf(
        ATTACHED + GATEWAY + policy(target, section),
        true,
      )
      const status = statuses.find(({ kind }) => kind === 'ProxyPolicy') ?? assert.fail()
      assert.deepEqual(
        badIn(status).map(({ type, reason }) => `${type} ${reason}`),
        ['Attached Pending'],
      )
      assert.deepEqual(
        diagnostics
          .filter((diagnostic) => isAbout(status, diagnostic))
          .map(({ code, severity, message }) => `${severity} ${code}: ${message}`),
        ['warning PC0707: its target is not attached to any Gateway'],
      )
    })
  }

  it('a policy for a route is usual if there is no Gateway at all', () => {
    const text = ATTACHED + policy(`${ROUTE}, name: web`, 'traffic')
    const severities = outcomeOf(text, true).diagnostics.map(({ severity }) => severity)
    assert.deepEqual(new Set(severities), new Set(['info']))
  })

  it('a policy for a route that is attached has nothing to say', () => {
    const text = ATTACHED + GATEWAY + policy(`${ROUTE}, name: web`, 'traffic')
    assert.deepEqual(outcomeOf(text, true).diagnostics, [])
  })
})

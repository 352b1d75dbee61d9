import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, describe, it } from 'node:test'
import { freePort, type Running, start, status, until } from './running.ts'

interface Linted {
  readonly findings: readonly { readonly code: string }[]
  readonly isComplete: boolean
}

describe('the findings of lint in a running gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-findings-'))
  const running: Running[] = []
  afterEach(() => {
    for (const { child } of running.splice(0)) child.kill('SIGKILL')
  })
  after(() => rmSync(folder, { recursive: true }))

  it('are logged and in the admin API, which shows earlier ones during an analysis', async () => {
    const [http, admin, ready] = await Promise.all([freePort(), freePort(), freePort()])
    const file = join(folder, 'gateway.yaml')
    const text = (rule: string) => `config:
  workers: 1
  adminAddr: 127.0.0.1:${admin}
  statsAddr: "off"
  readinessAddr: 127.0.0.1:${ready}
gateways: { default: { port: ${http} } }
routes:
- name: all
  policies:
    authorization: { rules: [{ allow: "${rule}" }] }
    directResponse: { status: 200 }
`
    writeFileSync(file, text("request.path.startsWith('/a')"))
    const gateway = start('run', '-f', file)
    running.push(gateway)
    await until('readiness', async () => (await status(ready, '/healthz/ready')) === 200)
    /** Never 503, however long the analysis takes. */
    const ask = async () => {
      const response = await fetch(`http://127.0.0.1:${admin}/api/lint`)
      assert.equal(response.status, 200)
      return (await response.json()) as Linted
    }
    const codesOf = ({ findings }: Linted) => findings.map(({ code }) => code)
    /** Until all is analyzed, there are no findings but these. */
    const finished = async (earlier: readonly string[], expected: readonly string[]) => {
      await until(`${expected}`, async () => {
        const linted = await ask()
        if (!linted.isComplete) assert.deepEqual(codesOf(linted), earlier)
        return linted.isComplete && codesOf(linted).join() === expected.join()
      })
    }
    await finished([], ['AZ012'])
    await until('the log', () => /lint.*code=AZ012.*gateway\.yaml:\d+/.test(gateway.out()))
    writeFileSync(file, text("request.path != ''"))
    await finished(['AZ012'], ['AZ010'])
  })
})

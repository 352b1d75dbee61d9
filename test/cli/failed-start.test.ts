import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { freePort, start } from './running.ts'

for (const address of ['adminAddr', 'statsAddr', 'readinessAddr']) {
  it(`a gateway whose ${address} is in use accepts no connection`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
    const file = join(folder, 'gateway.yaml')
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.on('listening', resolve))
    const port = await freePort()
    const own = { adminAddr: await freePort(), statsAddr: await freePort() }
    const ports = {
      ...{ ...own, readinessAddr: await freePort() },
      [address]: (other.address() as AddressInfo).port,
    }
    const lines = Object.entries(ports).map(([name, at]) => `  ${name}: 127.0.0.1:${at}\n`)
    const text = `config:\n  workers: 1\n${lines.join('')}gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${port} }] }]\n`
    writeFileSync(file, text)
    const gateway = start('run', '-f', file)
    let accepted = 0
    const timer = setInterval(() => {
      const socket = connect(port, '127.0.0.1', () => accepted++)
      socket.on('connect', () => socket.destroy()).on('error', () => {})
    }, 3)
    assert.equal(await gateway.exit, 1)
    clearInterval(timer)
    other.close()
    rmSync(folder, { recursive: true })
    assert.match(gateway.out(), new RegExp(`PC0401[\\s\\S]*config\\.${address}`))
    assert.equal(accepted, 0)
  })
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { loadBetweenRequests, loadInThread } from '../../src/cli/load.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import { PORTCULLIS } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-load-'))
after(() => rmSync(folder, { recursive: true }))

function written(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const route = (index: number) => `- name: route-${index}
  matches: [{ path: { pathPrefix: /${index} } }]
  policies: { authorization: { rules: [{ require: "request.path != '\${NAME}'" }] } }
  backends: [{ host: 127.0.0.1:8080 }]
`
const ROUTES = Array.from({ length: 600 }, (_, index) => route(index)).join('')
const PLAIN = `gateways: { default: { port: 8080 } }\nroutes:\n${ROUTES}`
const ANCHORED = PLAIN.replace('{ port: 8080 }', '&first { port: 8080 }')
const WRONG = ANCHORED.replace('- name: route-7\n', '- nme: route-7\n')
const environment = { NAME: 'x' }

describe('a configuration that is read in a thread', () => {
  for (const [name, text] of [
    ['an ordinary one', PLAIN],
    ['one with anchors', ANCHORED],
    ['one with a mistake', WRONG],
    ['one that is no YAML', `${PLAIN}"`],
  ] as const) {
    it(`${name} is what it is without one`, async () => {
      const file = written('gateway.yaml', text)
      const { result, files } = await loadInThread(file, environment, { entry: PORTCULLIS })
      const expected = loadFile(file, { environment })
      assert.deepEqual(result, expected.result)
      assert.deepEqual(files, expected.files)
    })
  }

  for (const [name, text, said] of [
    ['crashes', "throw new Error('boom')", /boom/],
    ['ends without a word', 'process.exit(3)', /exited with code 3/],
    ['hangs', 'for (;;) {}', /took longer than 0\.2 s/],
    ['says half and hangs', HALF(), /took longer than 0\.2 s/],
    ['fills its memory', 'const all = []; for (;;) all.push({ all: [...all] })', /memory/],
  ] as const) {
    it(`that ${name} is an error, and the process goes on`, async () => {
      const entry = written('thread.mjs', text)
      const timeout = said.source.includes('longer') ? 200 : 60_000
      const options = { entry, timeout, maxMegabytes: 32 }
      await assert.rejects(loadInThread('gateway.yaml', {}, options), said)
    })
  }

  function HALF(): string {
    const begun = '{ model: {}, routes: 2, diagnostics: [], files: [] }'
    return `import { parentPort } from 'node:worker_threads'
parentPort.postMessage(${begun})
parentPort.on('message', () => {})`
  }
})

describe('a configuration that is read between requests', () => {
  for (const [name, text] of [
    ['long and plain', PLAIN],
    ['short, with anchors', 'gateways: { default: &a { port: 1 }, other: *a }'],
    ['without a file', undefined],
  ] as const) {
    it(`${name}, is what it is when it is read at once`, async () => {
      const file = text === undefined ? join(folder, 'no.yaml') : written('gateway.yaml', text)
      const loaded = await loadBetweenRequests(file, environment)
      assert.deepEqual(loaded, loadFile(file, { environment }))
    })
  }
})

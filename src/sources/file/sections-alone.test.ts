import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText } from './load.ts'

const LLM = "llm: { models: [{ name: '*', provider: openAI }] }\n"
const MCP = "mcp: { targets: [{ name: a, mcp: { host: 'http://a/mcp' } }] }\n"

function portsOf(text: string) {
  const { result } = loadText(text, 'gateway.yaml', { environment: {} })
  const errors = result.diagnostics.filter(({ severity }) => severity === 'error')
  const ports = (result.value?.gateways ?? []).flatMap(({ name, listeners }) =>
    listeners.map(({ port }) => `${name}:${port}`),
  )
  return { ports, errors: errors.map(({ code }) => code) }
}

describe('the ports of the sections `llm` and `mcp`', () => {
  for (const [what, text, ports] of [
    ['a file of models alone', LLM, ['llm:4000']],
    ['a file of MCP servers alone', MCP, ['mcp:3000']],
    ['both', LLM + MCP, ['llm:4000', 'mcp:3000']],
    ['a port that is written', LLM.replace('{ ', '{ port: 5000, '), ['llm:5000']],
    [
      'a file with gateways',
      `gateways: { default: { port: 8080 } }\n${LLM}${MCP}`,
      ['default:8080'],
    ],
  ] as const) {
    it(`${what}: ${ports.join(', ')}`, () => {
      const found = portsOf(text)
      assert.deepEqual(
        [found.errors, found.ports.map((one) => one.replace('section:', ''))],
        [[], ports],
      )
    })
  }

  it('are ambiguous if a gateway is named or another one is defined', () => {
    assert.deepEqual(portsOf(LLM.replace('{ ', '{ gateways: edge, ')).errors, ['PC0301'])
    assert.deepEqual(portsOf(`gateways: { edge: { port: 8080 } }\n${LLM}`).errors, ['PC0301'])
  })
})

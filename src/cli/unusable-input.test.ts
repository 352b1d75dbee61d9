import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { optionsOf } from './completion.ts'
import { runWith } from './fixtures/run.ts'
import { COMMANDS } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'unusable-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string) => join(folder, name)
const written = (name: string, content: string | Uint8Array) => {
  writeFileSync(at(name), content)
  return at(name)
}

const GOOD = written(
  'good.yaml',
  'gateways: { default: { port: 18080 } }\nroutes: [{ name: a, backends: [{ host: "127.0.0.1:9" }] }]\n',
)

mkdirSync(at('a-folder'))
symlinkSync(at('loop.yaml'), at('loop.yaml'))

/** A few lines that expand to gigabytes. */
function aliasesOfAliases(): string {
  const levels = Array.from(
    { length: 12 },
    (_, n) => `l${n}: &l${n} [${`*l${n - 1},`.repeat(n === 0 ? 0 : 9)}1]\n`,
  )
  return levels.join('')
}

/** Files that users may name by mistake. */
const FILES: Readonly<Record<string, string>> = {
  'that does not exist': at('none.yaml'),
  'that is a folder': at('a-folder'),
  'below a file': join(GOOD, 'below.yaml'),
  'with a name that is too long': at(`${'long'.repeat(100)}.yaml`),
  'that is a link to itself': at('loop.yaml'),
  'that is empty': written('empty.yaml', ''),
  'of comments alone': written('comments.yaml', '# nothing yet\n\n'),
  'of white space': written('blank.yaml', ' \n\t\n'),
  'that is binary': written('binary.yaml', Buffer.concat([Buffer.of(0, 255), randomBytes(4096)])),
  'in UTF-16': written('utf16.yaml', Buffer.from('\ufeffgateways: {}\n', 'utf16le')),
  'that is an image': written('image.yaml', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')),
  'of one long word': written('word.yaml', 'x'.repeat(256 << 10)),
  'of one long line of brackets': written('deep.yaml', '['.repeat(20_000)),
  'with an alias of nothing': written('alias.yaml', 'a: *none\nb: 1\n'),
  'of aliases of aliases': written('aliases.yaml', aliasesOfAliases()),
  'of a list': written('list.yaml', '- a\n- b\n'),
  'of another language': written('program.yaml', 'int main(void) { return "a: b"; }\n'),
}

/** How the file is passed to each command. */
const USES: Readonly<Record<string, (file: string) => readonly (readonly string[])[]>> = {
  init: () => [],
  check: (file) => [
    ['check', file],
    ['check', '--json', file],
  ],
  validate: (file) => [
    ['validate', '-f', file],
    ['validate', '--profile', 'agentgateway', file],
  ],
  lint: (file) => [
    ['lint', file],
    ['lint', '--json', file],
    ['lint', '--fix', file],
  ],
  explain: (file) => [['explain', file, '--request', 'GET /']],
  effective: (file) => [['effective', file]],
  test: (file) => [
    ['test', file],
    ['test', file, '--json'],
  ],
  prove: (file) => [['prove', file]],
  diff: (file) => [
    ['diff', file, GOOD],
    ['diff', GOOD, file],
    ['diff', file, file],
  ],
  replay: (file) => [
    ['replay', '--decisions', file, '--old', GOOD, '--new', GOOD],
    ['replay', '--decisions', at('empty.yaml'), '--old', file, '--new', GOOD],
    ['replay', '--decisions', at('empty.yaml'), '--old', GOOD, '--new', file],
  ],
  suggest: (file) => [
    ['suggest', '--decisions', file, '-f', GOOD],
    ['suggest', '--decisions', at('empty.yaml'), '-f', file],
  ],
  why: (file) => [['why', '--decisions', file]],
  // It sends the file unchanged: test/storage/attacks.test.ts.
  config: () => [],
  'log-level': () => [],
  audit: (file) => [
    ['audit', 'verify', file],
    ['audit', 'head', file],
  ],
  pin: (file) => [['pin', file, '--check']],
  convert: (file) => [
    ['convert', file],
    ...['agentgateway', 'caddy', 'nginx', 'envoy-gateway'].map((kind) => [
      ...['convert', '--from', kind, file],
    ]),
  ],
  fmt: (file) => [['fmt', '--check', file]],
  token: (file) => [['token', '--key', file]],
  'hash-key': () => [],
  'hash-password': () => [],
  schema: () => [],
  completion: () => [],
}

/** Messages of internal errors, and system error codes. */
const INTERNAL =
  /\bE(?:NOENT|ISDIR|NOTDIR|ACCES|PERM|LOOP|NAMETOOLONG|MFILE|INVAL|IO|BADF)\b|errno|syscall|node:|\n\s+at .+:\d+:\d+|TypeError|RangeError|SyntaxError|Maximum call stack|undefined|\[object |NaN/

const isNothing = (file: string) => /\/(?:empty|comments|blank)\.yaml$/.test(file)

describe('input that no command can use', () => {
  it('covers all commands', () => {
    assert.deepEqual(
      COMMANDS.map(({ name }) => name).toSorted(),
      // Serving is tested in separate processes: test/cli/run.test.ts.
      [...Object.keys(USES), 'run', 'demo'].toSorted(),
      'say how the command is given a file',
    )
  })

  for (const [command, uses] of Object.entries(USES)) {
    for (const [kind, file] of Object.entries(FILES)) {
      for (const args of uses(file)) {
        // `token` would create the file; the rest concerns the path, not the file.
        if (command === 'token' && kind === 'that does not exist') continue
        it(`${args
          .map((one) => (one.startsWith(folder) ? basename(one) : one))
          .join(' ')
          .slice(0, 80)}: a file ${kind}`, async () => {
          const { code, out, err } = await runWith(args)
          const said = out + err
          assert.doesNotMatch(said, INTERNAL)
          // An empty file is valid for `fmt` and as records; `explain` finds no listener for it.
          if (isNothing(file) && (code === 0 || command === 'explain')) return
          // Any YAML can be formatted.
          if (command === 'fmt' && code === 0) return
          assert.ok(code === 1 || code === 2, `${code}: ${said}`)
          // Programs get the whole line of an excerpt.
          if (!args.includes('--json')) {
            assert.ok(said.length < 20_000, `${said.length} characters`)
          }
          const isUsage = err.includes(`portcullis ${command}: `) && code === 2
          // `verify` reports this.
          if (args[1] === 'head' && err.includes('the chain is broken')) return
          const names = args.filter((one) => one.startsWith(folder)).map((one) => basename(one))
          assert.ok(isUsage || names.some((one) => said.includes(one)), `which file? ${said}`)
        })
      }
    }
  }
})

/** The options of each command: a missing value is a different error than an unknown option. */
const COMPLETED = new Map<string, ReadonlySet<string>>()
for (const command of COMMANDS) {
  const own = new Set<string>()
  for (const option of optionsOf(command)) {
    const { err } = await runWith([command.name, option, '--no-such-option'])
    if (!err.includes(`unknown option \`${option}\``)) own.add(option)
  }
  COMPLETED.set(command.name, own)
}

describe('every command', () => {
  for (const command of COMMANDS) {
    const { name, help, summary } = command
    it(`${name}: help is on the standard output, and begins with how it is called`, async () => {
      for (const args of [
        [name, '--help'],
        [name, '-h'],
        ['help', name],
      ]) {
        assert.deepEqual(await runWith(args), { code: 0, out: `${help}\n`, err: '' })
      }
      assert.ok(help.startsWith(`portcullis ${name}`), help)
      assert.match(summary, /^[a-z]/)
      assert.match(help, /[Ee]xit code|^portcullis (?:completion|schema|init)/)
      const wide = help.split('\n').filter((line) => line.length > 100)
      assert.deepEqual(wide, [])
    })

    it(`${name}: an option that it does not have is a usage error, with the one that was meant`, async () => {
      const unknown = await runWith([name, '--no-such-option'])
      assert.equal(unknown.code, 2)
      assert.match(unknown.err, /unknown option `--no-such-option`/)
      assert.equal(unknown.out, '')
      for (const option of optionsOf(command)) {
        if (!option.startsWith('--') || option.length < 6) continue
        const wrong = `${option.slice(0, -2)}${option.at(-1)}${option.at(-2)}`
        // The help of a command may mention another one.
        if (wrong === option || !COMPLETED.get(name)?.has(option)) continue
        const { code, err } = await runWith([name, wrong])
        assert.equal(code, 2, wrong)
        assert.match(err, /did you mean `--[a-z-]+`\?/, `${wrong}: ${err.slice(0, 200)}`)
      }
    })
  }

  it('that prints for programs accepts --json and --format json', async () => {
    for (const { name, help } of COMMANDS) {
      if (!/--format\b/.test(help)) continue
      assert.match(help, /--json/, name)
      const { err } = await runWith([name, '--format', 'no-such-format', 'x', 'y'])
      assert.doesNotMatch(err, /unknown option/, name)
    }
  })
})

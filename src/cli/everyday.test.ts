import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import bcrypt from 'bcryptjs'
import { describeCode } from '../diagnostics/catalogue.ts'
import { optionsOf } from './completion.ts'
import { runWith } from './fixtures/run.ts'
import { COMMANDS } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'everyday-'))
after(() => rmSync(folder, { recursive: true, force: true }))

describe('portcullis help and version', () => {
  it('print the same with either word order', async () => {
    const { code, out } = await runWith(['help', 'lint'])
    assert.deepEqual([code, out], [0, (await runWith(['lint', '--help'])).out])
  })

  it('suggest what was meant', async () => {
    assert.match((await runWith(['help', 'lnit'])).err, /did you mean `lint`\?/)
    assert.match(
      (await runWith(['lint', '--fxi', 'a'])).err,
      /unknown option `--fxi`: did you mean `--fix`/,
    )
    assert.match((await runWith(['why', '--limit'])).err, /`--limit` requires a value/)
    assert.match((await runWith(['schema', 'extra'])).err, /unexpected argument `extra`/)
  })

  for (const word of ['version', '-v', '-V', '--version']) {
    it(`print the version for ${word}`, async () => {
      assert.equal((await runWith([word])).out, 'portcullis 1.2.3\n')
    })
  }

  it('explain a message code without network access', async () => {
    const { code, out } = await runWith(['explain', 'pc0203'])
    assert.equal(code, 0)
    assert.ok(out.includes(describeCode('PC0203')?.title ?? '?'))
    assert.match(out, /Wrong.*:\n[\s\S]*Right:\n/)
    const unknown = await runWith(['explain', 'PC0293'])
    assert.equal(unknown.code, 2)
    assert.match(unknown.err, /unknown code PC0293: did you mean PC02/)
  })
})

describe('portcullis init', () => {
  for (const kind of ['http', 'llm', 'mcp']) {
    it(`writes a file for ${kind} that is right as it is`, async () => {
      const file = join(folder, `${kind}.yaml`)
      const { code, out } = await runWith(['init', kind, '-f', file])
      assert.equal(code, 0)
      const key = /API key: (\S+)/.exec(out)?.[1] ?? ''
      const digest = createHash('sha256').update(key).digest('hex')
      assert.ok(readFileSync(file, 'utf8').includes(`keyHash: sha256:${digest}`))
      for (const command of ['check', 'lint', 'fmt --check']) {
        const checked = await runWith([...command.split(' '), file])
        assert.deepEqual([checked.code, checked.err], [0, ''], checked.out)
      }
      const environment = { OPENAI_API_KEY: 'sk-1' }
      assert.match((await runWith(['check', file], { environment })).out, /: no errors\n$/)
    })
  }

  it('overwrites nothing without --force', async () => {
    const file = join(folder, 'there.yaml')
    writeFileSync(file, 'mine')
    const { code, err } = await runWith(['init', '-f', file])
    assert.equal(code, 1)
    assert.match(err, /already exists; use `--force` to overwrite it/)
    assert.equal(readFileSync(file, 'utf8'), 'mine')
    assert.equal((await runWith(['init', '-f', file, '--force'])).code, 0)
    assert.notEqual(readFileSync(file, 'utf8'), 'mine')
  })

  it('lists its examples', async () => {
    assert.match((await runWith(['init', 'tcp'])).err, /unknown example `tcp`/)
  })
})

describe('portcullis fmt', () => {
  const format = async (text: string, name = '-') =>
    (await runWith(['fmt', name], { readInput: () => text })).out

  it('produces one layout, and keeps comments and the order of keys', async () => {
    const text = "b:   {x: 1,y: [ 1,2 ]} # why\n\n\n\na:\n- 'one'\n-   two\n"
    const laid = "b: { x: 1, y: [1, 2] } # why\n\na:\n  - 'one'\n  - two\n"
    assert.equal(await format(text), laid)
    assert.equal(await format(laid), laid)
  })

  it('does not fold long lines', async () => {
    const text = `rules:\n  - allow: ${'request.path == "/a" || '.repeat(20)}false\n`
    assert.equal(await format(text), text)
  })

  it('lays out each document of a file', async () => {
    assert.equal(await format('a:   1\n---\nb:  2\n'), 'a: 1\n---\nb: 2\n')
  })

  it('changes files in place, and none with --check', async () => {
    const file = join(folder, 'layout.yaml')
    writeFileSync(file, 'a:   1\n')
    const checked = await runWith(['fmt', '--check', file])
    assert.deepEqual([checked.code, checked.out], [1, `${file}\n`])
    assert.equal((await runWith(['fmt', file])).code, 0)
    assert.equal(readFileSync(file, 'utf8'), 'a: 1\n')
    assert.equal((await runWith(['fmt', '--check', file])).code, 0)
  })

  it('reports what it cannot read, and continues with the rest', async () => {
    const bad = join(folder, 'bad.yaml')
    const good = join(folder, 'good.yaml')
    writeFileSync(bad, 'a: [1, 2')
    writeFileSync(good, 'a:   1\n')
    const { code, err } = await runWith(['fmt', bad, join(folder, 'none.yaml'), good])
    assert.equal(code, 1)
    assert.match(err, /bad\.yaml:1:9: unexpected end of file/)
    assert.match(err, /none\.yaml: no such file or directory/)
    assert.doesNotMatch(err, /ENOENT/)
    assert.equal(readFileSync(good, 'utf8'), 'a: 1\n')
  })

  it('leaves the examples unchanged', async () => {
    const examples = join(import.meta.dirname, '../../examples')
    const files = readdirSync(examples, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => join(examples, name))
    assert.ok(files.length > 10)
    assert.deepEqual(await runWith(['fmt', '--check', ...files]), { code: 0, out: '', err: '' })
  })

  it('lays out JSON', async () => {
    const file = join(folder, 'a.json')
    writeFileSync(file, '{"a":[1]}')
    await runWith(['fmt', file])
    assert.equal(readFileSync(file, 'utf8'), '{\n  "a": [\n    1\n  ]\n}\n')
  })
})

describe('portcullis hash-key and hash-password', () => {
  it('print the digest of a key without its trailing newline', async () => {
    const digest = createHash('sha256').update('robot').digest('hex')
    const { out } = await runWith(['hash-key'], { readInput: () => 'robot\n' })
    assert.equal(out, `sha256:${digest}\n`)
    assert.equal((await runWith(['hash-key'])).code, 2)
  })

  it('generate unguessable keys', async () => {
    const made = async () => JSON.parse((await runWith(['hash-key', '--generate', '--json'])).out)
    const [one, other] = [await made(), await made()]
    assert.notEqual(one.key, other.key)
    assert.ok(Buffer.from(one.key, 'base64url').length >= 32)
    assert.equal(one.keyHash, `sha256:${createHash('sha256').update(one.key).digest('hex')}`)
  })

  it('print the htpasswd line of a user', async () => {
    const readInput = () => 'open sesame\n'
    const { out } = await runWith(['hash-password', 'ada', '--cost', '4'], { readInput })
    const [, hash = ''] = /^ada:(\S+)\n$/.exec(out) ?? []
    assert.ok(bcrypt.compareSync('open sesame', hash))
    for (const args of [['a:b'], [], ['ada', '--cost', '40']]) {
      assert.equal((await runWith(['hash-password', ...args], { readInput })).code, 2)
    }
    const long = await runWith(['hash-password', 'ada'], { readInput: () => 'x'.repeat(73) })
    assert.match(long.err, /longer than 72 bytes/)
  })
})

describe('portcullis token', () => {
  const key = join(folder, 'key.json')

  it('issues tokens that its key set verifies', async () => {
    const args = ['token', '--key', key, '--audience', 'api', '--claims', '{"sub":"alice"}']
    const token = (await runWith(args)).out.trim()
    const { keys } = JSON.parse((await runWith(['token', '--jwks', '--key', key])).out)
    const [head = '', claims = '', signature = ''] = token.split('.')
    const publicKey = createPublicKey({ key: keys[0], format: 'jwk' })
    const isVerified = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
    assert.ok(isVerified)
    assert.equal(keys[0].d, undefined)
    const { iat, exp, ...rest } = JSON.parse(Buffer.from(claims, 'base64url').toString())
    assert.deepEqual(rest, { iss: 'https://issuer.example', aud: 'api', sub: 'alice' })
    assert.equal(exp - iat, 3600)
    assert.equal(statSync(key).mode & 0o077, 0)
  })

  it('reports invalid options and an invalid file', async () => {
    const file = join(folder, 'no-key.json')
    writeFileSync(file, '{}')
    const { code, err } = await runWith(['token', '--key', file])
    assert.equal(code, 1)
    assert.match(err, /not a private key/)
    assert.equal((await runWith(['token', '--key', key, '--claims', '[]'])).code, 2)
    assert.equal((await runWith(['token', '--key', key, '--expires', 'soon'])).code, 2)
  })
})

describe('portcullis completion', () => {
  it('lists every command and the options in its help', async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { code, out } = await runWith(['completion', shell])
      assert.equal(code, 0)
      for (const { name } of COMMANDS) assert.ok(out.includes(name), `${shell}: ${name}`)
    }
    const lint = COMMANDS.find(({ name }) => name === 'lint')
    assert.ok(lint)
    for (const option of ['--format', '--fix', '--max-warnings', '--help']) {
      assert.ok(optionsOf(lint).includes(option), option)
    }
    assert.equal((await runWith(['completion', 'cmd'])).code, 2)
  })
})

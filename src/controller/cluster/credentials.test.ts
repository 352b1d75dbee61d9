import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { readKubeconfig } from './credentials.ts'

describe('a kubeconfig with a credential plug-in', () => {
  let folder = ''

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kubeconfig-'))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  /** A plug-in of cloud providers is a program; here it is a script of the shell. */
  function kubeconfig(script: string, more: object = {}): string {
    mkdirSync(join(folder, 'bin'), { recursive: true })
    const plugin = join(folder, 'bin/plugin')
    writeFileSync(plugin, `#!/bin/sh\n${script}\n`)
    chmodSync(plugin, 0o755)
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './bin/plugin',
      args: ['get-token', '--region=eu'],
      env: [{ name: 'PROFILE', value: 'dev' }],
      interactiveMode: 'Never',
      ...more,
    }
    const config = {
      'current-context': 'a',
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      clusters: [{ name: 'a', cluster: { server: 'https://127.0.0.1:6443' } }],
      users: [{ name: 'a', user: { exec } }],
    }
    const path = join(folder, 'config')
    writeFileSync(path, JSON.stringify(config))
    return path
  }

  const output = (status: object) =>
    JSON.stringify({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status,
    })

  it('runs it with its arguments and environment, and uses its token', () => {
    const script = `cat <<END\n${output({ token: '$1 $2 $PROFILE' })}\nEND`
    const { token } = readKubeconfig(kubeconfig(script))
    assert.equal(token?.(), 'get-token --region=eu dev')
  })

  it('tells it about the cluster if it asks for that', () => {
    const script = `echo "$KUBERNETES_EXEC_INFO" > ${join(folder, 'info')}; echo '${output({ token: 'a' })}'`
    readKubeconfig(
      kubeconfig(`${script.replace('"$KUBE', '"$KUBE')}`, { provideClusterInfo: true }),
    )
    const read = readKubeconfig(
      kubeconfig(
        `printf '{"kind":"ExecCredential","status":{"token":"%s"}}' "$(cat ${join(folder, 'info')} | base64 | tr -d '\n')"`,
      ),
    )
    const info = JSON.parse(Buffer.from(read.token?.() ?? '', 'base64').toString())
    assert.deepEqual(info.spec, {
      interactive: false,
      cluster: { server: 'https://127.0.0.1:6443' },
    })
  })

  it('runs it again when the token expires, and not before', () => {
    const count = `n=$(cat ${join(folder, 'n')} 2>/dev/null || echo 0); n=$((n+1)); echo $n > ${join(folder, 'n')}`
    const status = output({ token: '$n', expirationTimestamp: '2000-01-01T00:00:00Z' })
    const { token } = readKubeconfig(kubeconfig(`${count}\ncat <<END\n${status}\nEND`))
    assert.deepEqual([token?.(), token?.()], ['2', '3'])
    rmSync(join(folder, 'n'))
    const lasting = output({ token: '$n', expirationTimestamp: '2999-01-01T00:00:00Z' })
    const other = readKubeconfig(kubeconfig(`${count}\ncat <<END\n${lasting}\nEND`))
    assert.deepEqual([other.token?.(), other.token?.()], ['1', '1'])
  })

  it('uses a certificate that it prints', () => {
    const status = { clientCertificateData: 'cert', clientKeyData: 'key' }
    const { tls } = readKubeconfig(kubeconfig(`echo '${output(status)}'`))
    assert.deepEqual([tls.cert?.toString(), tls.key?.toString()], ['cert', 'key'])
  })

  const failures: readonly (readonly [string, string, object, RegExp])[] = [
    [
      'is not installed',
      '',
      { command: 'no-such-plugin', installHint: 'install the CLI' },
      /`no-such-plugin` cannot be run: .*ENOENT; install the CLI$/,
    ],
    ['fails', 'exit 3', {}, /`\.\/bin\/plugin` failed with code 3$/],
    ['prints something else', 'echo hello', {}, /printed no ExecCredential/],
    [
      'prints neither a token nor a certificate',
      `echo '${output({})}'`,
      {},
      /printed no ExecCredential/,
    ],
    [
      'has an unknown version',
      '',
      { apiVersion: 'client.authentication.k8s.io/v2' },
      /`exec\.apiVersion` of the user is not valid/,
    ],
  ]
  for (const [what, script, more, message] of failures) {
    it(`says that the plug-in ${what}`, () => {
      assert.throws(() => readKubeconfig(kubeconfig(script, more)), message)
    })
  }
})

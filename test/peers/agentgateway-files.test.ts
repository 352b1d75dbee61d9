import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'

const PROGRAM = join(import.meta.dirname, 'agentgateway-files.ts')
/**
 * A checkout of agentgateway and of its website (for its pages); neither is part of this
 * repository.
 */
const FOLDER = process.env['AGENTGATEWAY_FILES'] ?? ''
/** 400 of the 454 files counted when this test was written. */
const MIN_SHARE = 400 / 454

function counted(folder: string): { readonly loaded: number; readonly all: number } {
  const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, folder], { encoding: 'utf8' })
  const [, loaded, all] = /^(\d+) of (\d+) configurations load/m.exec(stdout) ?? []
  assert.ok(loaded !== undefined && all !== undefined, stdout + stderr)
  return { loaded: Number(loaded), all: Number(all) }
}

describe('configurations for agentgateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentgateway-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('are found in files and pages, deduplicated and counted', () => {
    const good =
      'binds:\n- port: 3000\n  listeners:\n  - routes:\n    - backends:\n      - host: a:80\n'
    mkdirSync(join(folder, 'docs'))
    writeFileSync(join(folder, 'good.yaml'), good)
    writeFileSync(join(folder, 'manifest.yaml'), 'apiVersion: v1\nkind: Service\n')
    writeFileSync(
      join(folder, 'docs/page.md'),
      `\`\`\`yaml\n${good}\`\`\`\n\`\`\`sh\ncat <<EOF > a.yaml\n${good.replace('3000', '3001')}EOF\n\`\`\`\n` +
        `\`\`\`yaml\n${good.replace('host', 'hots')}\`\`\`\n`,
    )
    assert.deepEqual(counted(folder), { loaded: 2, all: 3 })
  })

  it('of a checkout load, nine out of ten', {
    skip: FOLDER === '' ? 'AGENTGATEWAY_FILES names no folder' : false,
  }, (test) => {
    const { loaded, all } = counted(FOLDER)
    const share = `${loaded} of ${all} configurations load (${((100 * loaded) / all).toFixed(1)} %)`
    test.diagnostic(`result: ${FOLDER}: ${share}`)
    assert.ok(all > 300, share)
    assert.ok(loaded / all >= MIN_SHARE, share)
  })
})

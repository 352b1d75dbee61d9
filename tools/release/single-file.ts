import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { signMachO } from './mach-o.ts'
import { call, nodeFor, type Platform } from './platforms.ts'

interface SingleFile {
  readonly root: string
  readonly platform: Platform
  /** The script that it starts with. */
  readonly start: string
  /** Name → file: what the program reads as assets. */
  readonly assets: Readonly<Record<string, string>>
  readonly output: string
}

/** Node and the program as one file that runs by itself, made by Node for any platform. */
export function writeSingleFile({ root, platform, start, assets, output }: SingleFile): void {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-single-'))
  try {
    const settings = join(folder, 'single-file.json')
    writeFileSync(
      settings,
      JSON.stringify({
        // Its path is a part of the file: not the one of this machine.
        main: basename(start),
        output,
        executable: nodeFor(root, platform),
        disableExperimentalSEAWarning: true,
        // Options of Node in the environment are for other programs.
        execArgvExtension: 'none',
        assets,
      }),
    )
    call(process.execPath, ['--build-sea', settings], dirname(start))
  } finally {
    rmSync(folder, { recursive: true })
  }
  if (platform.os === 'darwin') {
    writeFileSync(output, signMachO(readFileSync(output), 'portcullis'), { mode: 0o755 })
  }
}

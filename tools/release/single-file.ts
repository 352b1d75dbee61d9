import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { signMachO } from './mach-o.ts'
import { call, nodeFor, type Platform } from './platforms.ts'

interface SingleFile {
  readonly root: string
  readonly platform: Platform
  /** The script that runs first. */
  readonly start: string
  /** Name → file of the assets that the program reads. */
  readonly assets: Readonly<Record<string, string>>
  readonly output: string
}

/** Builds a single executable from Node and the program, for any platform. */
export function writeSingleFile({ root, platform, start, assets, output }: SingleFile): void {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-single-'))
  try {
    const settings = join(folder, 'single-file.json')
    writeFileSync(
      settings,
      JSON.stringify({
        // The path is stored in the executable, so it must not depend on this machine.
        main: basename(start),
        output,
        executable: nodeFor(root, platform),
        disableExperimentalSEAWarning: true,
        // Ignores Node options in the environment, which are meant for other programs.
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

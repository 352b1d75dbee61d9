import { watch } from 'node:fs'

const FOLDERS = ['src', 'test', 'tools', 'bin', 'examples', 'docs', 'ui', 'charts', 'proto']
/** Milliseconds until what an editor or git writes at once is complete. */
const SETTLE_MS = 200

/** Calls `onChange` with the files that were saved, whenever the previous call has ended. */
export async function watchFiles(
  onChange: (files: readonly string[]) => Promise<unknown>,
): Promise<never> {
  const saved = new Set<string>()
  let wake = () => {}
  for (const folder of FOLDERS) {
    watch(folder, { recursive: true }, (_, name) => {
      if (name === null) return
      saved.add(`${folder}/${name.replaceAll('\\', '/')}`)
      wake()
    })
  }
  for (;;) {
    if (saved.size === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
    const files = [...saved]
    saved.clear()
    await onChange(files)
  }
}

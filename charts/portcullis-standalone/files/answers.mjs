import { connect } from 'node:net'

const host = process.env.SERVICE
const ports = JSON.parse(process.env.PORTS).filter(({ protocol }) => protocol === 'TCP')

async function ask({ name = '', port }) {
  if (/^http(?!s)/.test(name)) {
    const { status } = await fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(5000) })
    return `answers ${status}`
  }
  await new Promise((resolve, reject) => {
    const socket = connect(port, host)
    socket.setTimeout(5000, () => socket.destroy(new Error('nothing came in 5 s')))
    socket.on('connect', resolve).on('error', reject)
    socket.on('connect', () => socket.destroy())
  })
  return 'takes connections'
}

// A service that was just made may need a moment.
for (let attempt = 1; ; attempt++) {
  const asked = await Promise.allSettled(ports.map(ask))
  for (const [index, { value, reason }] of asked.entries()) {
    const { port } = ports[index]
    console.log(`${host}:${port} ${value ?? `does not answer: ${reason?.cause ?? reason}`}`)
  }
  if (asked.every(({ status }) => status === 'fulfilled')) break
  if (attempt === 5) process.exit(1)
  await new Promise((resolve) => setTimeout(resolve, 2000))
}

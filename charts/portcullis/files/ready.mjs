const { SERVICE: host, PORT: port } = process.env

// A service that was just made may need a moment.
for (let attempt = 1; ; attempt++) {
  const asked = await fetch(`http://${host}:${port}/readyz`, {
    signal: AbortSignal.timeout(5000),
  }).then(
    ({ ok, status }) => ({ ok, text: `responds with ${status}` }),
    (error) => ({ ok: false, text: `does not respond: ${error.cause ?? error}` }),
  )
  console.log(`${host}:${port} ${asked.text}`)
  if (asked.ok) break
  if (attempt === 5) process.exit(1)
  await new Promise((resolve) => setTimeout(resolve, 2000))
}

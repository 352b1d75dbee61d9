"""Clients of HTTP/2 and gRPC that others wrote, and a server of gRPC; each prints what it saw."""

import asyncio
import hashlib
import socket
import sys
import threading
import time
from concurrent import futures


def as_is(message):
    return message


def serve():
    import grpc

    def unary(request, context):
        context.set_trailing_metadata((('x-tail', 'yes'),))
        return request

    def fail(request, context):
        context.abort(grpc.StatusCode.NOT_FOUND, 'no such thing: ü %')

    def silent(request, context):
        gone = threading.Event()
        context.add_callback(gone.set)
        gone.wait(30)
        print('cancelled', flush=True)
        return b''

    def late(request, context):
        time.sleep(2)
        yield b'late'

    def server_stream(request, context):
        for _ in range(1000):
            yield request

    def client_stream(requests, context):
        return str(sum(len(one) for one in requests)).encode()

    def both(requests, context):
        yield from requests

    kinds = {
        'unary': grpc.unary_unary_rpc_method_handler(unary),
        'fail': grpc.unary_unary_rpc_method_handler(fail),
        'silent': grpc.unary_unary_rpc_method_handler(silent),
        'late': grpc.unary_stream_rpc_method_handler(late),
        'server': grpc.unary_stream_rpc_method_handler(server_stream),
        'client': grpc.stream_unary_rpc_method_handler(client_stream),
        'both': grpc.stream_stream_rpc_method_handler(both),
    }
    size = 64 << 20
    options = [('grpc.max_receive_message_length', size), ('grpc.max_send_message_length', size)]
    server = grpc.server(futures.ThreadPoolExecutor(16), options=options)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler('test.Python', kinds)])
    port = server.add_insecure_port('127.0.0.1:0')
    server.start()
    print(port, flush=True)
    # Until whoever started it goes away.
    sys.stdin.read()
    server.stop(0)


def call_grpc(address):
    import grpc

    size = 64 << 20
    options = [
        ('grpc.max_receive_message_length', size),
        ('grpc.max_send_message_length', size),
        ('grpc.keepalive_time_ms', 100),
        ('grpc.keepalive_timeout_ms', 5000),
        ('grpc.keepalive_permit_without_calls', 1),
        ('grpc.http2.max_pings_without_data', 0),
    ]
    channel = grpc.insecure_channel(address, options)
    name = '/test.Python/'
    unary = channel.unary_unary(name + 'unary')
    for i in range(500):
        if unary(b'hello') != b'hello':
            print('unary', i)
    message, call = unary.with_call(b'x' * (8 << 20))
    print('unary', len(message), dict(call.trailing_metadata()).get('x-tail'))
    parts = list(channel.unary_stream(name + 'server')(b'y' * 10_000))
    print('server', len(parts), sum(map(len, parts)))
    many = [b'z' * 10_000] * 1000
    print('client', channel.stream_unary(name + 'client')(iter(many)).decode())
    parts = list(channel.stream_stream(name + 'both')(iter(many)))
    print('both', len(parts), sum(map(len, parts)))
    # Nothing but signs of life for two seconds.
    print('late', list(channel.unary_stream(name + 'late')(b'')))
    try:
        channel.unary_unary(name + 'fail')(b'')
    except grpc.RpcError as error:
        print('fail', error.code().name, error.details())
    try:
        channel.unary_unary(name + 'silent')(b'', timeout=0.3)
    except grpc.RpcError as error:
        print('deadline', error.code().name)
    future = channel.unary_unary(name + 'silent').future(b'')
    time.sleep(0.3)
    future.cancel()
    try:
        future.result()
    except grpc.FutureCancelledError:
        print('cancel')
    calls = [unary.future(b'%d' % i) for i in range(400)]
    print('many', all(call.result() == b'%d' % i for i, call in enumerate(calls)))
    channel.close()


def call_httpx(url, authority):
    import httpx

    async def run():
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(http1=False, http2=True, verify=authority, limits=limits, timeout=60) as client:
            response = await client.get(url + '/a?b=1')
            print(response.http_version, response.status_code, response.text.strip())
            # More than the gateway serves at once: the client keeps to what it was told.
            posts = [client.post(f'{url}/many/{i}', content=b'x' * i) for i in range(300)]
            texts = [response.text.strip() for response in await asyncio.gather(*posts)]
            print('many', texts == [f'POST /many/{i} {i}' for i in range(300)])
            large = await client.get(url + '/large')
            print('large', hashlib.sha256(large.content).hexdigest())

            async def parts():
                for at in range(0, len(large.content), 50_000):
                    yield large.content[at : at + 50_000]

            response = await client.put(url + '/up', content=parts())
            print(response.text.strip())
            response = await client.post(url + '/denied', content=b'x' * 300_000)
            print('denied', response.status_code)
            cookies = {'a': '1', 'b': '2'}
            response = await client.request('OPTIONS', url + '/options', cookies=cookies)
            print(response.text.strip())

    asyncio.run(run())


def call_h2(port):
    """Windows of few bytes that grow and shrink, settings that change: h2 checks every frame."""
    import h2.config
    import h2.connection
    import h2.events
    import h2.settings

    peer = socket.create_connection(('127.0.0.1', port))
    peer.settimeout(30)
    connection = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding='utf-8'))
    # Set as a value to begin with: what is assigned later applies with the first acknowledgement,
    # and is not in the first SETTINGS.
    connection.local_settings = h2.settings.Settings(
        client=True, initial_values={h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 100}
    )
    connection.initiate_connection()
    total = 60
    bodies = {}
    ended = set()
    for i in range(total):
        stream = connection.get_next_available_stream_id()
        bodies[stream] = b''
        fields = [(':method', 'GET'), (':scheme', 'http'), (':authority', 'x'), (':path', '/chunks')]
        connection.send_headers(stream, fields + [('x-many', str(i))], end_stream=True)
    sizes = [100, 0, 1, 16_384, 5, 65_535, 0, 2**20]
    step = 0
    # h2 takes any acknowledgement for that of the oldest change: none before the first has come.
    acknowledged = False
    peer.sendall(connection.data_to_send())
    while len(ended) < total:
        data = peer.recv(65_536)
        if not data:
            break
        grown = set()
        for event in connection.receive_data(data):
            if isinstance(event, h2.events.DataReceived):
                bodies[event.stream_id] += event.data
                connection.increment_flow_control_window(event.flow_controlled_length)
                grown.add(event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                ended.add(event.stream_id)
            elif isinstance(event, h2.events.SettingsAcknowledged):
                acknowledged = True
            elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
                print('ended by', event)
                return
        for stream in grown - ended:
            connection.increment_flow_control_window(700, stream)
        if acknowledged and step < len(sizes):
            code = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
            connection.update_settings({code: sizes[step], h2.settings.SettingCodes.HEADER_TABLE_SIZE: 4096 >> step})
            connection.ping(b'%08d' % step)
            step += 1
        peer.sendall(connection.data_to_send())
    whole = b''.join(b'chunk %d\n' % i for i in range(100))
    print('bodies', len(ended), all(body == whole for body in bodies.values()))
    peer.close()


if __name__ == '__main__':
    command, *arguments = sys.argv[1:]
    if command == 'serve':
        serve()
    elif command == 'grpc':
        call_grpc(*arguments)
    elif command == 'httpx':
        call_httpx(*arguments)
    elif command == 'h2':
        call_h2(int(arguments[0]))

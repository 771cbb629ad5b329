from gateway.inference.channels import ChannelOptions


def test_every_channel_argument_is_given_once_and_in_milliseconds():
    arguments = ChannelOptions(keepalive_s=0.5, max_backoff_s=0.25).arguments()
    names = [name for name, _ in arguments]
    assert len(names) == len(set(names))
    assert dict(arguments)["grpc.keepalive_time_ms"] == 500
    assert dict(arguments)["grpc.max_reconnect_backoff_ms"] == 250


def test_a_hang_is_noticed_by_the_ping_timeout_which_keepalive_needs_beside_it():
    arguments = dict(ChannelOptions(ping_timeout_s=2).arguments())
    assert arguments["grpc.keepalive_timeout_ms"] == arguments["grpc.http2.ping_timeout_ms"] == 2000


def test_messages_may_be_larger_than_four_megabytes_both_ways():
    arguments = dict(ChannelOptions().arguments())
    assert arguments["grpc.max_send_message_length"] == arguments["grpc.max_receive_message_length"] == -1

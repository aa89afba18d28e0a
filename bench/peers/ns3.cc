// One TCP transfer over a link of two hosts in ns-3. ns3 GIGABITS SECONDS DELAY_MS
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include <iostream>
#include <vector>

using namespace ns3;

int main(int count, char** words) {
    const std::string rate = std::string(words[1]) + "Gbps", delay = std::string(words[3]) + "ms";
    const double seconds = std::stod(words[2]);
    // Frames and buffers as the lab's: 1448 bytes of payload, 6 MiB of receive and 4 MiB of send buffer. CUBIC
    // and a queue of 1000 frames: with BBR, or a longer queue, ns-3 takes even longer.
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(6 << 20));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    NodeContainer hosts;
    hosts.Create(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", StringValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000p"));
    NetDeviceContainer ends = link.Install(hosts);
    InternetStackHelper().Install(hosts);
    Ipv4AddressHelper addresses("10.0.1.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(ends);
    BulkSendHelper sender("ns3::TcpSocketFactory", InetSocketAddress(interfaces.GetAddress(1), 5001));
    sender.Install(hosts.Get(0)).Stop(Seconds(seconds));
    PacketSinkHelper receiver("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
    ApplicationContainer sink = receiver.Install(hosts.Get(1));
    std::vector<uint64_t> totals;
    for (int slot = 1; slot <= 10 * seconds; slot++)  // each tenth of a second, as bulk.py
        Simulator::Schedule(MilliSeconds(100 * slot), [&] {
            totals.push_back(DynamicCast<PacketSink>(sink.Get(0))->GetTotalRx());
        });
    Simulator::Stop(Seconds(seconds + 0.001));
    Simulator::Run();
    std::cout << "{\"slots\": [";
    for (size_t slot = 0; slot < totals.size(); slot++)
        std::cout << (slot ? ", " : "") << totals[slot] - (slot ? totals[slot - 1] : 0);
    std::cout << "]}" << std::endl;
    Simulator::Destroy();
    return 0;
}
